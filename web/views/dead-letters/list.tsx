// Dead letters one by one: chosen, and sent again or deleted.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { diedAtMs, listDeadLetters, type LetterFilter } from '../../api/dead-letters.js';
import { usePages } from '../../api/pages.js';
import type { DeadLetter } from '../../api/answer-types.js';
import { Destination } from '../../components/destination.js';
import { filterOf, TextFilter } from '../../components/filters.js';
import { Empty, Fault } from '../../components/notices.js';
import { Pager } from '../../components/pager.js';
import { When } from '../../components/time.js';
import { href } from '../../route.js';
import { handle, HandlingDialog } from './handling.js';

/** No more than these are in the page, whatever the list holds. */
const PAGE = 100;

export function LetterList(): JSX.Element {
  const filter: LetterFilter = { url: filterOf('url'), responseStatus: filterOf('responseStatus') };
  const pages = usePages(JSON.stringify(filter), PAGE, (cursor, count, signal) =>
    listDeadLetters(filter, { cursor, count, signal }),
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const items = pages.value?.items ?? [];
  const ids = items.map(({ dlqId }) => dlqId).filter((id) => chosen.has(id));
  const act = (what: 'retry' | 'delete'): void =>
    handle({
      what,
      deadLetters: { ids },
      count: ids.length,
      which: 'that are chosen',
      done: () => {
        setChosen(new Set());
        pages.reload();
      },
    });
  const choose = (some: readonly DeadLetter[], isChosen: boolean): void => {
    const next = new Set(chosen);
    for (const { dlqId } of some) {
      if (isChosen) next.add(dlqId);
      else next.delete(dlqId);
    }
    setChosen(next);
  };
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={href(['letters'])}>Dead letters</a>
      </nav>
      <div class="title">
        <h1>One by one</h1>
        <div class="buttons">
          <button type="button" class="button chief" disabled={ids.length === 0} onClick={() => act('retry')}>
            Send {ids.length} again
          </button>
          <button type="button" class="button grave" disabled={ids.length === 0} onClick={() => act('delete')}>
            Delete {ids.length}
          </button>
        </div>
      </div>
      <section class="sheet">
        <div class="filters" role="search">
          <TextFilter name="url" label="Destination" isSearch placeholder="a whole URL" />
          <TextFilter name="responseStatus" label="Answer" placeholder="500, or 0 for none" />
        </div>
        <Fault text={pages.problem} />
        {pages.value !== undefined && items.length === 0 && <Empty title="No dead letter is like that" />}
        {items.length > 0 && <Table items={items} chosen={chosen} choose={choose} />}
        <Pager pages={pages} what={items.length === 1 ? 'dead letter' : 'dead letters'} />
      </section>
      <HandlingDialog />
    </>
  );
}

interface TableProps {
  readonly items: readonly DeadLetter[];
  readonly chosen: ReadonlySet<string>;
  readonly choose: (some: readonly DeadLetter[], isChosen: boolean) => void;
}

function Table({ items, chosen, choose }: TableProps): JSX.Element {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th>
              <input
                type="checkbox"
                aria-label="All on this page"
                checked={items.every(({ dlqId }) => chosen.has(dlqId))}
                onChange={(event) => choose(items, event.currentTarget.checked)}
              />
            </th>
            <th>Died</th>
            <th>Destination</th>
            <th>Answer</th>
            <th>Error</th>
            <th>Message</th>
          </tr>
        </thead>
        <tbody>
          {items.map((letter) => (
            <tr key={letter.dlqId}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Choose ${letter.messageId}`}
                  checked={chosen.has(letter.dlqId)}
                  onChange={(event) => choose([letter], event.currentTarget.checked)}
                />
              </td>
              <td>
                <When at={diedAtMs(letter.dlqId)} />
              </td>
              <td class="long">
                <Destination url={letter.url} method={letter.method} />
              </td>
              <td>
                <span class="state bad">{letter.responseStatus === 0 ? 'none' : letter.responseStatus}</span>
              </td>
              <td class="long">{letter.responseError ?? ''}</td>
              <td>
                <a class="mono" href={href(['messages', letter.messageId])}>
                  {letter.messageId.slice(0, 16)}…
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
