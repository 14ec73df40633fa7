// One schedule's occurrences on a line: what came of those before now, and when the next ones are. Pick one, or any moment, to have it explained.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/loaded.js';
import { listRuns } from '../../api/runs.js';
import { nextTimes } from '../../api/schedules.js';
import type { Run, Schedule } from '../../api/answer-types.js';
import { Icon } from '../../components/icons.js';
import { Fault } from '../../components/notices.js';
import { RUN_LOOKS } from '../../components/state.js';
import { nowMs, span, utcText } from '../../components/time.js';
import { setQuery } from '../../route.js';

/** More marks than this lie on top of each other; so many nominal times the API gives at once. */
const MARKS_MAX = 100;
const REFRESH_MS = 3_000;
/** What was due so lately may be recorded by now, and not read yet. */
const SETTLING_MS = REFRESH_MS + 2_000;
/** How many occurrences the line has room for, on each side of now. */
const EACH_SIDE = 12;
const SHORTEST_MS = 20_000;
const LONGEST_MS = 400 * 86_400_000;

interface Mark {
  readonly atMs: number;
  /** Null for one that is still to come, or of which nothing is recorded. */
  readonly run: Run | null;
}

export function Timeline({ schedule, chosen }: { schedule: Schedule; chosen: string }): JSX.Element {
  const { scheduleId, generation } = schedule;
  const [zoom, setZoom] = useState(0);
  const gap = useLoaded(`${scheduleId} ${generation}`, (signal) => usualGapMs(scheduleId, signal));
  const halfMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (gap.value ?? 3_600_000) * EACH_SIDE * 3 ** zoom));
  const key = gap.value === undefined ? '' : `${scheduleId} ${generation} ${halfMs}`;
  const marks = useLoaded(key, (signal) => (key === '' ? Promise.resolve([]) : readMarks(scheduleId, halfMs, signal)), {
    everyMs: REFRESH_MS,
    keepOld: true,
  });
  const now = nowMs.value;
  const fromMs = now - halfMs;
  const place = (atMs: number): number => (100 * (atMs - fromMs)) / (2 * halfMs);
  const shown = (marks.value ?? []).filter(({ atMs }) => place(atMs) >= 0 && place(atMs) <= 100);
  const chosenMs = Date.parse(chosen);
  const pick = (atMs: number): void => setQuery({ at: new Date(Math.round(atMs)).toISOString() });
  return (
    <section class="sheet" aria-labelledby="timeline">
      <header>
        <h2 id="timeline">Occurrences</h2>
        <div class="buttons">
          <button
            type="button"
            class="button small"
            onClick={() => setZoom(zoom - 1)}
            disabled={halfMs <= SHORTEST_MS}
            aria-label="Show less time"
          >
            +
          </button>
          <button
            type="button"
            class="button small"
            onClick={() => setZoom(zoom + 1)}
            disabled={halfMs >= LONGEST_MS}
            aria-label="Show more time"
          >
            −
          </button>
        </div>
      </header>
      <Fault text={marks.problem || gap.problem} />
      <div
        class="timeline"
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          if (event.target === event.currentTarget)
            pick(fromMs + ((event.clientX - box.left) / box.width) * 2 * halfMs);
        }}
      >
        <div class="timeline-past" />
        <div class="timeline-now" aria-hidden="true">
          <span>now</span>
        </div>
        {Number.isFinite(chosenMs) && place(chosenMs) >= 0 && place(chosenMs) <= 100 && (
          <div class="timeline-chosen" style={{ left: `${place(chosenMs)}%` }} aria-hidden="true" />
        )}
        <ul aria-label="Occurrences, the earliest first">
          {shown.map((mark) => (
            <li key={`${mark.atMs} ${mark.run?.messageId ?? ''}`} style={{ left: `${place(mark.atMs)}%` }}>
              <Dot mark={mark} isPast={mark.atMs <= now - SETTLING_MS} isChosen={mark.atMs === chosenMs} pick={pick} />
            </li>
          ))}
        </ul>
        <span class="timeline-end">{span(halfMs)} ago</span>
        <span class="timeline-end last">in {span(halfMs)}</span>
      </div>
    </section>
  );
}

interface DotProps {
  readonly mark: Mark;
  readonly isPast: boolean;
  readonly isChosen: boolean;
  readonly pick: (atMs: number) => void;
}

function Dot({ mark: { atMs, run }, isPast, isChosen, pick }: DotProps): JSX.Element {
  const [tone, icon] = run === null ? (['off', isPast ? 'ask' : 'wait'] as const) : RUN_LOOKS[run.state];
  const word = run === null ? (isPast ? 'nothing recorded' : 'to come') : run.state;
  const late = run?.latenessMs === undefined ? '' : `, started ${span(run.latenessMs)} late`;
  const kind = run?.kind === 'manual' ? 'manual run, ' : '';
  return (
    <button
      type="button"
      class={`dot ${tone} ${run === null ? 'bare' : ''} ${run?.kind === 'manual' ? 'manual' : ''}`}
      aria-pressed={isChosen}
      aria-label={`${utcText(atMs)} UTC: ${kind}${word}${late}`}
      title={`${utcText(atMs)} UTC\n${kind}${word}${late}`}
      onClick={() => pick(atMs)}
    >
      {(run !== null || isPast) && <Icon name={icon} size={10} />}
    </button>
  );
}

/** The time from one occurrence to the next, lately: the middle one of a few. */
async function usualGapMs(id: string, signal: AbortSignal): Promise<number> {
  const { times } = await nextTimes(id, Date.now(), 8, signal);
  const at = times.map(({ utc }) => Date.parse(utc));
  const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 3_600_000;
}

/** The runs of the span, and the nominal times that have none. */
async function readMarks(id: string, halfMs: number, signal: AbortSignal): Promise<Mark[]> {
  const now = nowMs.peek();
  const [from, to] = [now - halfMs, now + halfMs].map((at) => String(Math.round(at)));
  const [page, past, future] = await Promise.all([
    listRuns({ schedule: id, from: from ?? '', to: to ?? '' }, { count: 2 * MARKS_MAX, signal }),
    nextTimes(id, now - halfMs, MARKS_MAX, signal),
    nextTimes(id, now, MARKS_MAX, signal),
  ]);
  const runs = page.items.filter(({ kind }) => kind === 'occurrence' || kind === 'manual');
  const marks = runs.map((run): Mark => ({ atMs: Date.parse(run.occurrence ?? run.dueAt), run }));
  const recorded = new Set(marks.map(({ atMs }) => atMs));
  const nominal = new Set([...past.times, ...future.times].map(({ utc }) => Date.parse(utc)));
  for (const atMs of nominal) if (!recorded.has(atMs)) marks.push({ atMs, run: null });
  return marks.sort((a, b) => a.atMs - b.atMs);
}
