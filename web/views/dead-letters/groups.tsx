// Dead letters by destination and error: what is broken, since when, how much of it; sent again or deleted, a group or all at once.

import type { JSX } from 'preact';
import { useLoaded } from '../../api/loaded.js';
import { letterGroups, type LetterGroup } from '../../api/dead-letters.js';
import { Destination } from '../../components/destination.js';
import { Empty, Fault } from '../../components/notices.js';
import { amount, When } from '../../components/time.js';
import { href } from '../../route.js';
import { session } from '../../session.js';
import { handle, HandlingDialog } from './handling.js';

const REFRESH_MS = 5_000;

export function LetterGroupsView(): JSX.Element {
  const tenant = session.value?.tenant ?? '';
  const {
    value,
    problem: fault,
    reload,
  } = useLoaded(tenant, (signal) => letterGroups(tenant, signal), { everyMs: REFRESH_MS });
  const groups = value?.groups ?? [];
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const all = value?.complete === true ? count : null;
  return (
    <>
      <div class="title">
        <h1>Dead letters</h1>
        {value !== undefined && (
          <span class="quiet">
            {amount(count)}
            {value.complete ? '' : ' and more'}
          </span>
        )}
        {groups.length > 0 && (
          <div class="buttons">
            <a class="button" href={href(['letters', 'all'])}>
              One by one
            </a>
            <button
              type="button"
              class="button"
              onClick={() =>
                handle({ what: 'retry', deadLetters: {}, count: all, which: 'of this tenant', done: reload })
              }
            >
              Send all again
            </button>
            <button
              type="button"
              class="button grave"
              onClick={() =>
                handle({ what: 'delete', deadLetters: {}, count: all, which: 'of this tenant', done: reload })
              }
            >
              Delete all
            </button>
          </div>
        )}
      </div>
      <Fault text={fault} />
      {value !== undefined && groups.length === 0 && (
        <section class="sheet">
          <Empty title="No dead letters">Every message was delivered, or still has attempts left.</Empty>
        </section>
      )}
      {groups.length > 0 && <Groups groups={groups} reload={reload} />}
      <HandlingDialog />
    </>
  );
}

function Groups({ groups, reload }: { groups: readonly LetterGroup[]; reload: () => void }): JSX.Element {
  const most = Math.max(...groups.map(({ count }) => count));
  return (
    <section class="sheet scroll">
      <table class="table">
        <thead>
          <tr>
            <th>Destination</th>
            <th>Answer</th>
            <th>Error</th>
            <th>How many</th>
            <th class="number">First</th>
            <th class="number">Latest</th>
            <th>
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <Row
              key={`${group.url} ${group.responseStatus} ${group.error ?? ''}`}
              group={group}
              groups={groups}
              most={most}
              reload={reload}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  readonly group: LetterGroup;
  readonly groups: readonly LetterGroup[];
  readonly most: number;
  readonly reload: () => void;
}

function Row({ group, groups, most, reload }: RowProps): JSX.Element {
  const { url, responseStatus, error, count, firstAt, latestAt } = group;
  // They are chosen by destination and answer, whatever the error's text: all groups with both are meant.
  const meant = groups.filter((other) => other.url === url && other.responseStatus === responseStatus);
  const deadLetters = { url, responseStatus: String(responseStatus) };
  const number = meant.reduce((sum, one) => sum + one.count, 0);
  const which = responseStatus === 0 ? `of ${url} without an answer` : `of ${url} answered with ${responseStatus}`;
  const act = (what: 'retry' | 'delete'): void => handle({ what, deadLetters, count: number, which, done: reload });
  return (
    <tr data-destination={url}>
      <td class="long">
        <a href={href(['letters', 'all'], deadLetters)}>
          <Destination url={url} />
        </a>
      </td>
      <td>
        <span class="state bad">{responseStatus === 0 ? 'none' : responseStatus}</span>
      </td>
      <td class="long">{error ?? ''}</td>
      <td class="share">
        <span>{amount(count)}</span>
        <meter min={0} max={most} value={count} aria-hidden="true" />
      </td>
      <td class="number">
        <When at={firstAt} />
      </td>
      <td class="number">
        <When at={latestAt} />
      </td>
      <td class="number nowrap">
        <button type="button" class="button small" onClick={() => act('retry')}>
          Send again
        </button>{' '}
        <button type="button" class="button small grave" onClick={() => act('delete')}>
          Delete
        </button>
      </td>
    </tr>
  );
}
