// UTC offsets of IANA time zones: Intl is asked once for each stretch of time, then the answer comes from a small table.
//
// Intl answers some hundred thousand look-ups a second, which is too slow to ask for each candidate of a cron search. So time is
// cut into blocks of about a month (larger ones would make a search for rare dates, each in a year of its own, ask for years that it
// skips); a block is probed every PROBE_STEP_MS, each change of offset between two probes is found by
// bisection, and what is kept is a handful of segments of constant offset. The step is safe because no zone of the database has
// had two changes less than seven days apart since 1970 (the shortest: Brazil, October 2000).
import { LRUCache } from 'lru-cache';
import { unknownZone } from './zone-names.js';

/** A stretch [startMs, endMs) with one offset: local = UTC + offsetMs. Neighbouring segments may have the same offset. */
export interface ZoneSegment {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
}

const BLOCK_MS = 32 * 86_400_000;
const PROBE_STEP_MS = 3 * 86_400_000;
/** About 22 years for each zone; a search that leaves them builds a block again in some tens of microseconds. */
const MAX_BLOCKS_PER_ZONE = 256;
/** A formatter holds tens of kilobytes and is needed only while a block is built. */
const MAX_FORMATTERS = 32;
const MAX_ZONE_NAMES = 1024;
const MAX_ZONE_NAME_LENGTH = 64;

const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: MAX_FORMATTERS });
/** By Intl's own name, so that spellings and links share one table; bounded by the number of zones that exist. */
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

/** The first millisecond in (lowMs, highMs] where the offset is another than at lowMs, given that it is another at highMs. */
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
 * Returns the zone of a name that Intl knows (`America/New_York`, `UTC`; upper and lower case do not matter). That is
 * more than users may give, since rows of before have such names: what comes from a user goes through `ianaName` first.
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
  // Some engines also take fixed offsets such as +05:30; those are no IANA names and would not be portable between nodes.
  if (name.length <= MAX_ZONE_NAME_LENGTH && /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) {
    try {
      return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
    } catch {
      // Falls through to the one text for every name that is not known.
    }
  }
  throw unknownZone(name);
}

/** Local time with its offset, ISO 8601: `2026-03-08T03:00:00-04:00`; milliseconds only where there are some. */
export function formatLocal(zone: TimeZone, atMs: number): string {
  const { offsetMs } = zone.segmentAt(atMs);
  const iso = new Date(atMs + offsetMs).toISOString();
  const local = atMs % 1000 === 0 ? iso.slice(0, -5) : iso.slice(0, -1);
  const pad = (value: number): string => String(value).padStart(2, '0');
  const seconds = Math.abs(offsetMs) / 1000;
  const offset = `${offsetMs < 0 ? '-' : '+'}${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}`;
  return local + offset + (seconds % 60 === 0 ? '' : `:${pad(seconds % 60)}`);
}
