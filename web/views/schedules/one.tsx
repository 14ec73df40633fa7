// One schedule: what it says, when it ran and will run, why, and what can be done to it.

import type { JSX } from 'preact';
import { useLoaded } from '../../api/loaded.js';
import { listRuns } from '../../api/runs.js';
import { getSchedule } from '../../api/schedules.js';
import type { Schedule } from '../../api/answer-types.js';
import { Bytes, Headers } from '../../components/content.js';
import { FactList, type Fact } from '../../components/facts.js';
import { Icon } from '../../components/icons.js';
import { Empty, Fault } from '../../components/notices.js';
import { ScheduleBadge } from '../../components/state.js';
import { Exactly, span } from '../../components/time.js';
import { href, route } from '../../route.js';
import { RunTable } from '../messages/table.js';
import { askToDelete, askToPause, askToResume, askToTrigger } from './actions.js';
import { Explain } from './explain.js';
import { Timeline } from './timeline.js';

const REFRESH_MS = 5_000;
const SHOWN_RUNS = 15;

export function OneSchedule({ id }: { id: string }): JSX.Element {
  const { value, problem: fault, reload } = useLoaded(id, (signal) => getSchedule(id, signal), { everyMs: REFRESH_MS });
  const at = route.value.query.get('at') ?? '';
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={href(['schedules'])}>Schedules</a>
      </nav>
      <div class="title">
        <h1>{id}</h1>
        {value !== undefined && <ScheduleBadge state={value.state} />}
        {value !== undefined && <Actions schedule={value} reload={reload} />}
      </div>
      <Fault text={fault} />
      {/* One that was deleted can still be explained. */}
      {value === undefined && fault !== '' && <Explain id={id} at={at} />}
      {value !== undefined && (
        <div class="two">
          <div class="stack">
            <Timeline schedule={value} chosen={at} />
            <Explain id={id} at={at} />
            <LatestRuns id={id} />
          </div>
          <Definition schedule={value} />
        </div>
      )}
    </>
  );
}

function Actions({ schedule, reload }: { schedule: Schedule; reload: () => void }): JSX.Element {
  return (
    <div class="buttons">
      {schedule.state === 'active' && (
        <button type="button" class="button" onClick={() => askToPause(schedule, reload)}>
          <Icon name="pause" size={13} /> Pause
        </button>
      )}
      {schedule.state === 'paused' && (
        <button type="button" class="button" onClick={() => askToResume(schedule, reload)}>
          <Icon name="play" size={13} /> Resume
        </button>
      )}
      <button type="button" class="button" onClick={() => askToTrigger(schedule, reload)}>
        <Icon name="arrow" size={13} /> Run now
      </button>
      <a class="button" href={href(['schedules', schedule.scheduleId, 'edit'])}>
        Edit
      </a>
      <button type="button" class="button grave" onClick={() => askToDelete(schedule)}>
        Delete
      </button>
    </div>
  );
}

function LatestRuns({ id }: { id: string }): JSX.Element {
  const { value, problem: fault } = useLoaded(
    id,
    (signal) => listRuns({ schedule: id, to: String(Date.now()) }, { count: SHOWN_RUNS, signal }),
    {
      everyMs: REFRESH_MS,
    },
  );
  return (
    <section class="sheet" aria-labelledby="runs">
      <header>
        <h2 id="runs">Latest runs</h2>
        <a href={href(['messages'], { schedule: id })}>All of them</a>
      </header>
      <Fault text={fault} />
      {value?.items.length === 0 && <Empty title="It has not run yet" />}
      {value !== undefined && value.items.length > 0 && <RunTable runs={value.items} isOfOneSchedule />}
    </section>
  );
}

function Definition({ schedule }: { schedule: Schedule }): JSX.Element {
  const { cron, timeZone, method, destination, header, window = 0, delay = 0, start, end } = schedule;
  const facts: readonly Fact[] = [
    ['Expression', <code key="cron">{cron}</code>],
    ['Zone', timeZone ?? (/^(?:CRON_)?TZ=/.test(cron) ? 'in the expression' : 'UTC')],
    ['Next', schedule.state === 'active' && <Exactly at={schedule.nextScheduleTime} />],
    ['Last', schedule.lastScheduleTime !== undefined && <Exactly at={schedule.lastScheduleTime} />],
    ['Sends', `${method} ${destination}`],
    ['Missed', MISFIRE_WORDS[schedule.misfire](schedule.misfireWindow ?? 0)],
    ['Overlap', OVERLAP_WORDS[schedule.overlap]],
    ['Spread', window > 0 && `over ${span(window)}`],
    ['Delay', delay > 0 && span(1_000 * delay)],
    ['Begins', start !== undefined && <Exactly at={start} />],
    ['Ends', end !== undefined && <Exactly at={end} />],
    ['Retries', String(schedule.retries)],
    [
      'Retry delay',
      schedule.retryDelayExpression !== undefined && <code key="retry">{schedule.retryDelayExpression}</code>,
    ],
    ['Timeout', span(schedule.timeout)],
    ['Callback', schedule.callback ?? false],
    ['On failure', schedule.failureCallback ?? false],
    ['Key', schedule.idempotencyKey !== undefined && <code key="key">{schedule.idempotencyKey}</code>],
    ['Labels', (schedule.labels ?? []).join(', ') || false],
    ['Created', <Exactly key="created" at={schedule.createdAt} />],
    ['Generation', String(schedule.generation)],
  ];
  return (
    <section class="sheet" aria-labelledby="definition">
      <header>
        <h2 id="definition">Definition</h2>
      </header>
      <div class="pad stack">
        <FactList facts={facts} />
        <Headers headers={header} />
        <Bytes title="Body" text={schedule.body} base64={schedule.bodyBase64} />
      </div>
    </section>
  );
}

const MISFIRE_WORDS: Readonly<Record<Schedule['misfire'], (windowMs: number) => string>> = {
  skip: () => 'left out',
  once: () => 'the latest is sent',
  all: (windowMs) => `all of the last ${span(windowMs)} are sent`,
};

const OVERLAP_WORDS: Readonly<Record<Schedule['overlap'], string>> = {
  allow: 'allowed',
  skip: 'left out while the one before is under way',
  queue: 'waits for the one before',
};
