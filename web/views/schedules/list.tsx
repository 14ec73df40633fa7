// The schedules: looked for and turned a page at a time, however many there are.

import type { JSX } from 'preact';
import { usePages } from '../../api/pages.js';
import { listSchedules, type ScheduleFilter } from '../../api/schedules.js';
import type { Schedule } from '../../api/answer-types.js';
import { Destination } from '../../components/destination.js';
import { ChoiceFilter, filterOf, TextFilter } from '../../components/filters.js';
import { Icon } from '../../components/icons.js';
import { Empty, Fault } from '../../components/notices.js';
import { Pager } from '../../components/pager.js';
import { ScheduleBadge } from '../../components/state.js';
import { When } from '../../components/time.js';
import { href } from '../../route.js';
import { askToPause, askToResume, askToTrigger } from './actions.js';

const REFRESH_MS = 10_000;
/** No more than these are in the page, whatever the list holds. */
const PAGE = 50;

export function ScheduleList(): JSX.Element {
  const text = filterOf('q');
  const filter: ScheduleFilter = {
    state: filterOf('state'),
    label: filterOf('label'),
    host: filterOf('host'),
    [filterOf('in') === 'any' ? 'search' : 'idPrefix']: text,
  };
  const key = JSON.stringify(filter);
  const pages = usePages(
    key,
    PAGE,
    (cursor, count, signal) => listSchedules(filter, { cursor, count, signal }),
    REFRESH_MS,
  );
  const items = pages.value?.items ?? [];
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <>
      <div class="title">
        <h1>Schedules</h1>
        <div class="buttons">
          <a class="button chief" href={href(['new-schedule'])}>
            <Icon name="plus" size={14} /> New schedule
          </a>
        </div>
      </div>
      <section class="sheet">
        <div class="filters" role="search">
          <TextFilter
            name="q"
            label="Search"
            isSearch
            placeholder={filterOf('in') === 'any' ? 'text in the id or destination' : 'beginning of an id'}
          />
          <ChoiceFilter
            name="in"
            label="In"
            choices={[
              ['', 'ids that begin so'],
              ['any', 'ids and destinations'],
            ]}
          />
          <ChoiceFilter
            name="state"
            label="State"
            choices={[
              ['', 'any'],
              ['active', 'active'],
              ['paused', 'paused'],
              ['ended', 'ended'],
            ]}
          />
          <TextFilter name="host" label="Host" placeholder="example.com" />
          <TextFilter name="label" label="Label" />
        </div>
        <Fault text={pages.problem} />
        {items.length === 0 ? (
          pages.value !== undefined && pages.next === null && <None isFiltered={isFiltered} />
        ) : (
          <Table items={items} reload={pages.reload} />
        )}
        <Pager pages={pages} what={items.length === 1 ? 'schedule' : 'schedules'} />
      </section>
    </>
  );
}

function None({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return <Empty title="No schedule is like that">Take a filter away, or look in ids and destinations.</Empty>;
  return (
    <Empty title="No schedules yet">
      <a href={href(['new-schedule'])}>Make the first one</a>, or send it to the API.
    </Empty>
  );
}

function Table({ items, reload }: { items: readonly Schedule[]; reload: () => void }): JSX.Element {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th>Schedule</th>
            <th>State</th>
            <th>When</th>
            <th>Destination</th>
            <th class="number">Last</th>
            <th class="number">Next</th>
            <th>Latest runs</th>
            <th>
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((schedule) => (
            <Row key={schedule.scheduleId} schedule={schedule} reload={reload} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ schedule, reload }: { schedule: Schedule; reload: () => void }): JSX.Element {
  const { scheduleId, state, cron, timeZone, destination, method, labels = [] } = schedule;
  return (
    <tr data-schedule={scheduleId}>
      <td class="names">
        <a class="name" href={href(['schedules', scheduleId])}>
          {scheduleId}
        </a>{' '}
        {labels.map((label) => (
          <a key={label} class="tag" href={href(['schedules'], { label })}>
            {label}
          </a>
        ))}
      </td>
      <td>
        <ScheduleBadge state={state} />
      </td>
      <td class="nowrap">
        <code>{cron}</code> <span class="quiet">{timeZone ?? (/^(?:CRON_)?TZ=/.test(cron) ? '' : 'UTC')}</span>
      </td>
      <td class="long">
        <Destination url={destination} method={method} />
      </td>
      <td class="number">
        <When at={schedule.lastScheduleTime} />
      </td>
      <td class="number">
        {state === 'active' ? <When at={schedule.nextScheduleTime} /> : <span class="quiet">–</span>}
      </td>
      <td>
        <LatestRuns states={schedule.lastScheduleStates ?? {}} />
      </td>
      <td class="number nowrap acts">
        {state === 'active' && (
          <Act icon="pause" verb="Pause" name={scheduleId} act={() => askToPause(schedule, reload)} />
        )}
        {state === 'paused' && (
          <Act icon="play" verb="Resume" name={scheduleId} act={() => askToResume(schedule, reload)} />
        )}
        <Act icon="arrow" verb="Run now" name={scheduleId} act={() => askToTrigger(schedule, reload)} />
      </td>
    </tr>
  );
}

function Act({
  icon,
  verb,
  name,
  act,
}: {
  icon: 'pause' | 'play' | 'arrow';
  verb: string;
  name: string;
  act: () => void;
}): JSX.Element {
  return (
    <button type="button" class="button small plain" title={verb} aria-label={`${verb}: ${name}`} onClick={act}>
      <Icon name={icon} size={14} />
    </button>
  );
}

const RUN_LOOKS = { SUCCESS: ['good', 'yes'], FAIL: ['bad', 'no'], IN_PROGRESS: ['wait', 'wait'] } as const;

function LatestRuns({ states }: { states: NonNullable<Schedule['lastScheduleStates']> }): JSX.Element {
  return (
    <span class="latest">
      {Object.entries(states).map(([messageId, state]) => {
        const [tone, icon] = RUN_LOOKS[state];
        return (
          <a
            key={messageId}
            class={`state ${tone}`}
            href={href(['messages', messageId])}
            aria-label={`A run: ${state.toLowerCase().replace('_', ' ')}`}
          >
            <Icon name={icon} size={11} />
          </a>
        );
      })}
    </span>
  );
}
