// What the page asks and does about schedules.

import type { Page } from './gather.js';
import { request } from './request.js';
import type { NextTimes, Schedule } from './answer-types.js';

export interface ScheduleFilter {
  readonly state?: string;
  readonly label?: string;
  readonly host?: string;
  readonly idPrefix?: string;
  readonly search?: string;
}

export async function listSchedules(
  filter: ScheduleFilter,
  { cursor, count, signal }: { cursor: string; count: number; signal: AbortSignal },
): Promise<Page<Schedule>> {
  const { schedules, cursor: next } = await request<{ schedules: Schedule[]; cursor?: string }>('/v2/schedules', {
    query: { ...filter, count: String(count), cursor },
    signal,
  });
  return { items: schedules, cursor: next };
}

const pathOf = (id: string): string => `/v2/schedules/${encodeURIComponent(id)}`;

export function getSchedule(id: string, signal?: AbortSignal): Promise<Schedule> {
  return request(pathOf(id), signal === undefined ? {} : { signal });
}

/** At most `count` nominal times after `from` (epoch ms). */
export function nextTimes(id: string, fromMs: number, count: number, signal: AbortSignal): Promise<NextTimes> {
  return request(`${pathOf(id)}/next`, { query: { from: String(Math.round(fromMs)), count: String(count) }, signal });
}

export function previewCron(cron: string, timeZone: string, signal: AbortSignal): Promise<NextTimes> {
  return request('/v2/cron/preview', {
    method: 'POST',
    body: { cron, count: 10, ...(timeZone === '' ? {} : { timeZone }) },
    signal,
  });
}

/** Creates or replaces. `headers` are the API's settings by their names. */
export function saveSchedule(
  destination: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ scheduleId: string }> {
  return request(`/v2/schedules/${encodeURIComponent(destination)}`, { method: 'POST', headers, body });
}

export const pauseSchedule = (id: string): Promise<unknown> => request(`${pathOf(id)}/pause`, { method: 'POST' });
export const resumeSchedule = (id: string): Promise<unknown> => request(`${pathOf(id)}/resume`, { method: 'POST' });
export const deleteSchedule = (id: string): Promise<unknown> => request(pathOf(id), { method: 'DELETE' });
export const triggerSchedule = (id: string): Promise<{ messageId: string }> =>
  request(`${pathOf(id)}/trigger`, { method: 'POST' });

export interface Explanation {
  /** A word for what was found: ran, ran-late, paused, skipped, not-a-time… */
  readonly verdict: string;
  readonly text: string;
  /** ISO 8601, as `nominal` and the times of the evidence. */
  readonly at: string;
  readonly nominal: string | null;
  /** The id of the occurrence's message. */
  readonly message: string | null;
  /** The nominal times before and after. */
  readonly before: string | null;
  readonly after: string | null;
  readonly evidence: readonly { readonly at: string | null; readonly text: string }[];
}

export function explain(id: string, at: string, signal: AbortSignal): Promise<Explanation> {
  return request(`${pathOf(id)}/explain`, { query: { at }, signal });
}
