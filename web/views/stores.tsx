// Sweeps and stores: up to when work is in Redis, what the sweeps moved last, and how PostgreSQL and Redis are.

import type { JSX } from 'preact';
import type { StorePicture, SweepPicture } from '../../src/admin/protocol.js';
import { picture } from '../live/socket.js';
import { FactList, type Fact } from '../components/facts.js';
import { ConnectionLost } from '../components/connection-lost.js';
import { Empty } from '../components/notices.js';
import { State } from '../components/state.js';
import { amount, bytes, Exactly } from '../components/time.js';

export function Stores(): JSX.Element {
  const shown = picture.value;
  return (
    <>
      <div class="title">
        <h1>Sweeps and stores</h1>
      </div>
      <ConnectionLost />
      {shown === null ? (
        <Empty title="Reading the picture…" />
      ) : (
        <div class="cards">
          <Table store={shown.stores.table} />
          <Queue store={shown.stores.queue} />
          <Horizon />
          <Sweep
            name="Promote and recur"
            what="Brings work that comes near from PostgreSQL into Redis, each hour for each shard."
            sweep={shown.sweeps.promote}
          />
          <Sweep
            name="Rescue"
            what="Finds what is overdue and Redis does not know, each minute for each shard."
            sweep={shown.sweeps.rescue}
          />
        </div>
      )}
    </>
  );
}

function Health({ store }: { store: StorePicture }): JSX.Element {
  if (!store.isUp) return <State look={['bad', 'no']} word="away" />;
  if (store.awayFor.length > 0) return <State look={['warn', 'ask']} word="away for some" />;
  return <State look={['good', 'yes']} word="up" />;
}

function common(store: StorePicture): Fact[] {
  return [
    ['Round trip', store.roundTripMs === null ? 'no answer' : `${store.roundTripMs.toFixed(1)} ms`],
    ['Away for', store.awayFor.length > 0 && store.awayFor.join(', ')],
  ];
}

type Pictured = NonNullable<typeof picture.value>;

function Table({ store }: { store: Pictured['stores']['table'] }): JSX.Element {
  return (
    <section class="sheet" aria-labelledby="table-store">
      <header>
        <h2 id="table-store">PostgreSQL</h2>
        <Health store={store} />
      </header>
      <div class="pad">
        <FactList facts={[...common(store), ['Waiting to be committed', amount(store.backlog)]]} />
      </div>
    </section>
  );
}

function Queue({ store }: { store: Pictured['stores']['queue'] }): JSX.Element {
  const { memoryBytes, memoryMaxBytes } = store;
  return (
    <section class="sheet" aria-labelledby="queue-store">
      <header>
        <h2 id="queue-store">Redis</h2>
        <Health store={store} />
      </header>
      <div class="pad stack">
        <FactList
          facts={[
            ...common(store),
            [
              'Memory',
              memoryBytes !== null &&
                (memoryMaxBytes === null || memoryMaxBytes === 0
                  ? bytes(memoryBytes)
                  : `${bytes(memoryBytes)} of ${bytes(memoryMaxBytes)}`),
            ],
            ['Waiting to be offered', amount(store.offersWaiting)],
            ['Left to sweeps', amount(store.offersLeftToSweeps)],
          ]}
        />
        {memoryBytes !== null && memoryMaxBytes !== null && memoryMaxBytes > 0 && (
          <meter
            min={0}
            max={memoryMaxBytes}
            high={0.8 * memoryMaxBytes}
            value={memoryBytes}
            aria-label="Memory in use"
          />
        )}
      </div>
    </section>
  );
}

function Horizon(): JSX.Element | null {
  const shown = picture.value;
  if (shown === null) return null;
  const { completedHorizonAtMs, announcedHorizonAtMs, backlog } = shown.sweeps;
  return (
    <section class="sheet" aria-labelledby="horizon">
      <header>
        <h2 id="horizon">Horizon</h2>
        {completedHorizonAtMs === 0 && <State look={['warn', 'wait']} word="being filled" />}
      </header>
      <div class="pad stack">
        <p class="quiet">
          All work that is due before the horizon is in Redis; what lies beyond is in PostgreSQL alone.
        </p>
        <FactList
          facts={[
            [
              'Complete until',
              completedHorizonAtMs === 0 ? (
                'a shard’s queue was lost and is being filled again'
              ) : (
                <Exactly at={completedHorizonAtMs} />
              ),
            ],
            ['Announced until', announcedHorizonAtMs > 0 && <Exactly at={announcedHorizonAtMs} />],
            ['Sweeps waiting or under way', amount(backlog)],
          ]}
        />
      </div>
    </section>
  );
}

function Sweep({ name, what, sweep }: { name: string; what: string; sweep: SweepPicture }): JSX.Element {
  return (
    <section class="sheet" aria-label={name}>
      <header>
        <h2>{name}</h2>
        {sweep.failures > 0 && <State look={['warn', 'ask']} word={`${amount(sweep.failures)} failed`} />}
      </header>
      <div class="pad stack">
        <p class="quiet">{what}</p>
        <FactList
          facts={[
            ['Ended last', sweep.lastAtMs === null ? 'not yet' : <Exactly at={sweep.lastAtMs} />],
            ['It moved', sweep.lastAtMs !== null && rows(sweep.lastQueued)],
            ['Moved anything last', sweep.lastMovedAtMs === null ? 'never' : <Exactly at={sweep.lastMovedAtMs} />],
            ['That moved', sweep.lastMovedAtMs !== null && rows(sweep.lastMoved)],
            ['Sweeps so far', amount(sweep.runs)],
            ['Rows so far', amount(sweep.queued)],
          ]}
        />
      </div>
    </section>
  );
}

function rows(count: number): string {
  return `${amount(count)} ${count === 1 ? 'row' : 'rows'}`;
}
