// What the page asks and does about messages and their record.

import type { Page } from './gather.js';
import { request } from './request.js';
import type { Run, RunDetail, RunPage, RunState } from './answer-types.js';

export interface RunFilter {
  readonly schedule?: string;
  readonly key?: string;
  readonly label?: string;
  readonly url?: string;
  readonly host?: string;
  /** Separated by commas. */
  readonly state?: string;
  /** Epoch ms or ISO 8601. */
  readonly from?: string;
  readonly to?: string;
}

export async function listRuns(
  filter: RunFilter,
  { cursor = '', count, signal }: { cursor?: string; count: number; signal: AbortSignal },
): Promise<Page<Run>> {
  const page = await request<RunPage>('/v2/runs', { query: { ...filter, count: String(count), cursor }, signal });
  return { items: page.runs, cursor: page.cursor };
}

export function countRuns(filter: RunFilter, signal: AbortSignal): Promise<Readonly<Record<RunState, number>>> {
  return request('/v2/runs/counts', { query: { ...filter }, signal });
}

export function getRun(messageId: string, signal: AbortSignal): Promise<RunDetail> {
  return request(`/v2/runs/${encodeURIComponent(messageId)}`, { signal });
}

export function cancelMessage(messageId: string): Promise<unknown> {
  return request(`/v2/messages/${encodeURIComponent(messageId)}`, { method: 'DELETE' });
}
