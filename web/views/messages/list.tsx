// Messages: the record, by state, schedule, destination, key and label, the latest due first.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/loaded.js';
import { usePages } from '../../api/pages.js';
import { countRuns, listRuns, type RunFilter } from '../../api/runs.js';
import { RUN_STATES, type RunState } from '../../api/answer-types.js';
import { ChoiceFilter, filterOf, TextFilter } from '../../components/filters.js';
import { Icon } from '../../components/icons.js';
import { Empty, Fault } from '../../components/notices.js';
import { Pager } from '../../components/pager.js';
import { RUN_LOOKS } from '../../components/state.js';
import { amount } from '../../components/time.js';
import { setQuery } from '../../route.js';
import { RunTable } from './table.js';

const REFRESH_MS = 10_000;
/** No more than these are in the page, whatever the list holds. */
const PAGE = 50;
const SPANS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };

export function MessageList(): JSX.Element {
  const url = filterOf('to');
  const filter: RunFilter = {
    state: filterOf('state'),
    schedule: filterOf('schedule'),
    label: filterOf('label'),
    key: filterOf('key'),
    [/^https?:\/\//i.test(url) ? 'url' : 'host']: url,
  };
  const when = filterOf('when');
  const key = JSON.stringify([filter, when]);
  const pages = usePages(
    key,
    PAGE,
    (cursor, count, signal) => listRuns({ ...filter, ...between(when) }, { cursor, count, signal }),
    REFRESH_MS,
  );
  const items = pages.value?.items ?? [];
  return (
    <>
      <div class="title">
        <h1>Messages</h1>
      </div>
      <section class="sheet">
        <div class="filters" role="search">
          <ChoiceFilter
            name="when"
            label="Due"
            choices={[
              ['', 'until now'],
              ['hour', 'in the last hour'],
              ['day', 'in the last day'],
              ['week', 'in the last week'],
              ['coming', 'from now on'],
              ['all', 'whenever'],
            ]}
          />
          <TextFilter name="to" label="Destination" placeholder="host, or a whole URL" />
          <TextFilter name="schedule" label="Schedule" />
          <TextFilter name="key" label="Idempotency key" />
          <TextFilter name="label" label="Label" />
        </div>
        <States key={key} filter={{ ...filter, state: '' }} when={when} />
        <Fault text={pages.problem} />
        {items.length > 0 && <RunTable runs={items} />}
        {pages.value !== undefined && items.length === 0 && pages.next === null && (
          <Empty title="No message is like that">The record begins where its retention ends.</Empty>
        )}
        <Pager pages={pages} what={items.length === 1 ? 'message' : 'messages'} />
      </section>
    </>
  );
}

/** Lists come latest due first; what is still to come stands above what was. */
function between(when: string): { from?: string; to?: string } {
  const now = Date.now();
  if (when === 'all') return {};
  if (when === 'coming') return { from: String(now) };
  const back = SPANS[when];
  return back === undefined ? { to: String(now) } : { from: String(now - back), to: String(now) };
}

/** Any of the states; and how many there are of each, when somebody wants to know. */
function States({ filter, when }: { filter: RunFilter; when: string }): JSX.Element {
  const [isCounted, setCounted] = useState(false);
  const chosen = new Set(filterOf('state').split(',').filter(Boolean));
  const toggle = (state: RunState): void => {
    const next = RUN_STATES.filter((known) => (known === state) !== chosen.has(known));
    setQuery({ state: next.join(',') });
  };
  return (
    <div class="states" role="group" aria-label="States">
      {RUN_STATES.map((state) => {
        const [tone, icon] = RUN_LOOKS[state];
        return (
          <button
            key={state}
            type="button"
            class={`state ${tone}`}
            aria-pressed={chosen.has(state)}
            onClick={() => toggle(state)}
          >
            <Icon name={icon} size={12} />
            {state}
          </button>
        );
      })}
      {isCounted ? (
        <Counts filter={filter} when={when} />
      ) : (
        <button type="button" class="button small plain" onClick={() => setCounted(true)}>
          Count them
        </button>
      )}
    </div>
  );
}

function Counts({ filter, when }: { filter: RunFilter; when: string }): JSX.Element {
  const { value, problem: fault } = useLoaded('counts', (signal) => countRuns({ ...filter, ...between(when) }, signal));
  if (fault !== '') return <span class="quiet">{fault}</span>;
  if (value === undefined) return <span class="quiet">Counting…</span>;
  return <span class="quiet">{RUN_STATES.map((state) => `${amount(value[state])} ${state}`).join(', ')}</span>;
}
