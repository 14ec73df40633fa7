// Times and amounts as people read them: how far away, and when exactly.

import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { clusterNowMs } from '../live/socket.js';

/** Now, each second: by the cluster's clock where it is known, else by this machine's. Epoch ms. */
export const nowMs = signal(Date.now());

setInterval(() => {
  if (!document.hidden) nowMs.value = clusterNowMs();
}, 1_000);

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** `2 h 5 min`: at most two units, the smaller left out from ten of the larger on. */
export function span(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  const at = UNITS.findIndex(([unit]) => length >= unit);
  const [unit, name] = UNITS[at] ?? [1_000, 's'];
  const whole = Math.floor(length / unit);
  const below = UNITS[at + 1];
  const rest = below === undefined || whole >= 10 ? 0 : Math.floor((length % unit) / below[0]);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${below?.[1] ?? ''}`;
}

/** `in 4 min` or `4 min ago`. */
export function fromNow(atMs: number, now: number): string {
  const away = atMs - now;
  if (Math.abs(away) < 1_000) return 'now';
  return away > 0 ? `in ${span(away)}` : `${span(away)} ago`;
}

/** `2026-11-30 02:51:07`, UTC, with milliseconds where there are any. */
export function utcText(atMs: number): string {
  return new Date(atMs)
    .toISOString()
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, '');
}

/** How far away, with the exact time for whoever points at it or hears it. */
export function When({ at }: { at: number | string | undefined }): JSX.Element {
  if (at === undefined) return <span class="quiet">–</span>;
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={`${utcText(atMs)} UTC`} class="nowrap">
      {fromNow(atMs, nowMs.value)}
    </time>
  );
}

/** The exact time in UTC, with how far away it is. */
export function Exactly({ at }: { at: number | string | undefined }): JSX.Element {
  if (at === undefined) return <span class="quiet">–</span>;
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return (
    <span>
      <time dateTime={new Date(atMs).toISOString()}>{utcText(atMs)}</time>{' '}
      <span class="quiet">UTC, {fromNow(atMs, nowMs.value)}</span>
    </span>
  );
}

/** `12 400` with thin spaces. */
export function amount(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumFractionDigits: value < 10 ? 1 : 0 })
    .format(value)
    .replaceAll(',', '\u2009');
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(value) / 10));
  const scaled = value / 2 ** (10 * power);
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${units[power - 1] ?? ''}`;
}
