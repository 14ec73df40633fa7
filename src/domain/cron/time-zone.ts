// UTC offsets of IANA time zones: Intl is called once for each stretch of time, then a small table answers.
//
// Intl performs some hundred thousand look-ups a second, too few for each candidate of a cron search. So time is cut
// into blocks of about a month (larger ones would make a search for rare dates, each in its own year, compute years
// that it skips). A block is probed every PROBE_STEP_MS, bisection finds each change of offset between two probes, and
// a few segments of constant offset are stored. The step is safe because no zone of the database has had two changes
// less than seven days apart since 1970 (the shortest: Brazil, October 2000).
import { LRUCache } from 'lru-cache';
import { unknownZone } from './zone-names.js';

/**
 * A stretch [startMs, endMs) with one offset: local = UTC + offsetMs. Neighbouring segments may have the same offset.
 */
export interface ZoneSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
}

const BLOCK_MS = 32 * 86_400_000;
const PROBE_STEP_MS = 3 * 86_400_000;
/** About 22 years for each zone; a search that leaves them rebuilds a block in some tens of microseconds. */
const MAX_BLOCKS_PER_ZONE = 256;
/** A formatter uses tens of kilobytes and is needed only while a block is built. */
const MAX_FORMATTERS = 32;
const MAX_ZONE_NAMES = 1024;
const MAX_ZONE_NAME_LENGTH = 64;

const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: MAX_FORMATTERS });
/** By Intl's own name, so that spellings and links share one table; bounded by the number of existing zones. */
const zonesByCanonicalName = new Map<string, TimeZone>();
const zonesByName = new LRUCache<string, TimeZone>({ max: MAX_ZONE_NAMES });

export class TimeZone {
  readonly #blocks = new Map<number, readonly ZoneSegment[]>();
  #last: ZoneSegment;

  /** Use `timeZone(name)`. The canonical name is Intl's; two spellings of one zone share it. */
  constructor(readonly canonicalName: string) {
    const fixed = canonicalName === 'UTC';
    this.#last = { startMs: fixed ? -Infinity : 0, endMs: fixed ? Infinity : 0, offsetMs: 0 };
  }

  segmentAt(atMs: number): ZoneSegment {
    const last = this.#last;
    if (atMs >= last.startMs && atMs < last.endMs) return last;
    const index = Math.floor(atMs / BLOCK_MS);
    for (const segment of this.#blocks.get(index) ?? this.#build(index)) {
      if (atMs < segment.endMs) return (this.#last = segment);
    }
    throw new Error(`invariant violated: no segment of ${this.canonicalName} at ${atMs}`);
  }

  #build(index: number): readonly ZoneSegment[] {
    const formatter = formatterOf(this.canonicalName);
    const endOfBlockMs = (index + 1) * BLOCK_MS;
    const segments: ZoneSegment[] = [];
    let startMs = index * BLOCK_MS;
    let offsetMs = offsetAt(formatter, startMs);
    for (let probeMs = startMs; probeMs < endOfBlockMs;) {
      const nextProbeMs = Math.min(probeMs + PROBE_STEP_MS, endOfBlockMs - 1);
      while (offsetAt(formatter, nextProbeMs) !== offsetMs) {
        const changeMs = firstChange(formatter, Math.max(startMs, probeMs), nextProbeMs, offsetMs);
        segments.push({ startMs, endMs: changeMs, offsetMs });
        startMs = changeMs;
        offsetMs = offsetAt(formatter, changeMs);
      }
      probeMs = nextProbeMs === endOfBlockMs - 1 ? endOfBlockMs : nextProbeMs;
    }
    segments.push({ startMs, endMs: endOfBlockMs, offsetMs });
    if (this.#blocks.size >= MAX_BLOCKS_PER_ZONE) this.#blocks.clear();
    this.#blocks.set(index, segments);
    return segments;
  }
}

/** Returns the first millisecond in (lowMs, highMs] with another offset than lowMs, given that highMs has another. */
function firstChange(formatter: Intl.DateTimeFormat, lowMs: number, highMs: number, offsetMs: number): number {
  let same = lowMs;
  let changed = highMs;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(formatter, middle) === offsetMs) same = middle;
    else changed = middle;
  }
  return changed;
}

function offsetAt(formatter: Intl.DateTimeFormat, atMs: number): number {
  const text = formatter.format(atMs);
  const match = /GMT(?:([+-])(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/.exec(text);
  if (match === null) throw new Error(`invariant violated: Intl wrote an offset we cannot read: ${text}`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const magnitudeMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -magnitudeMs : magnitudeMs;
}

function formatterOf(canonicalName: string): Intl.DateTimeFormat {
  let formatter = formatters.get(canonicalName);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', { timeZone: canonicalName, timeZoneName: 'longOffset' });
    formatters.set(canonicalName, formatter);
  }
  return formatter;
}

/**
 * Returns the zone of a name that Intl knows (`America/New_York`, `UTC`; case does not matter). This accepts more names
 * than users may use, since older rows contain such names: a user's name must pass `ianaName` first.
 *
 * @throws CarillonError INVALID_CRON for a name that Intl does not know.
 */
export function timeZone(name: string): TimeZone {
  const known = zonesByName.get(name);
  if (known !== undefined) return known;
  const canonicalName = canonicalNameOf(name);
  let zone = zonesByCanonicalName.get(canonicalName);
  if (zone === undefined) {
    zone = new TimeZone(canonicalName);
    zonesByCanonicalName.set(canonicalName, zone);
  }
  zonesByName.set(name, zone);
  return zone;
}

function canonicalNameOf(name: string): string {
  // Some engines also accept fixed offsets such as +05:30; those are no IANA names and would not be portable between
  // nodes.
  if (name.length <= MAX_ZONE_NAME_LENGTH && /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) {
    try {
      return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
    } catch {
      // Falls through to the same error for every unknown name.
    }
  }
  throw unknownZone(name);
}

/**
 * Returns the local time with its offset, ISO 8601: `2026-03-08T03:00:00-04:00`; with milliseconds only when they are
 * not zero.
 */
export function formatLocal(zone: TimeZone, atMs: number): string {
  const { offsetMs } = zone.segmentAt(atMs);
  const iso = new Date(atMs + offsetMs).toISOString();
  const local = atMs % 1000 === 0 ? iso.slice(0, -5) : iso.slice(0, -1);
  const pad = (value: number): string => String(value).padStart(2, '0');
  const seconds = Math.abs(offsetMs) / 1000;
  const offset = `${offsetMs < 0 ? '-' : '+'}${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}`;
  return local + offset + (seconds % 60 === 0 ? '' : `:${pad(seconds % 60)}`);
}
