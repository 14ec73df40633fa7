// The cluster: who owns what, how fast and how late, and what happened lately.

import type { JSX } from 'preact';
import type { Picture } from '../../../src/admin/protocol.js';
import { meet, byNumber } from '../../live/owners.js';
import { link, picture } from '../../live/socket.js';
import { ConnectionLost } from '../../components/connection-lost.js';
import { Empty } from '../../components/notices.js';
import { amount, span } from '../../components/time.js';
import { Chart, type Line } from './charts.js';
import { Events } from './events.js';
import { OwnerSign, ShardMap } from './map.js';
import { Nodes } from './nodes.js';

const THROUGHPUT: readonly Line[] = [
  { label: 'delivered', colour: '--good', isFilled: true, of: ({ delivered }) => delivered },
  { label: 'accepted', colour: '--wait', dash: [7, 3], of: ({ accepted }) => accepted },
  { label: 'failed', colour: '--bad', dash: [2, 3], of: ({ retried, failed }) => retried + failed },
];
const LAG: readonly Line[] = [
  { label: 'p50', colour: '--good', isFilled: true, of: ({ lagP50Ms }) => lagP50Ms },
  { label: 'p99', colour: '--bronze', dash: [7, 3], of: ({ lagP99Ms }) => lagP99Ms },
];

export function Cluster(): JSX.Element {
  const shown = picture.value;
  if (shown === null) {
    return (
      <>
        <div class="title">
          <h1>Cluster</h1>
        </div>
        <ConnectionLost />
        {link.value === 'connecting' && <Empty title="Reading the picture…" />}
      </>
    );
  }
  meet(shown.nodes.map(({ name }) => name));
  const { history } = shown;
  return (
    <div class="cluster">
      <div class="title">
        <h1>Cluster</h1>
        <Figures picture={shown} />
      </div>
      <ConnectionLost />
      <div class="cluster-body">
        <div class="stack">
          <section class="sheet" aria-labelledby="map">
            <header>
              <h2 id="map">Shards</h2>
              <Owners picture={shown} />
            </header>
            <div class="pad map-pad">
              <ShardMap picture={shown} />
            </div>
          </section>
          <Nodes picture={shown} />
          <div class="charts">
            <Chart title="Each second" unit="rate" lines={THROUGHPUT} history={history} />
            <Chart title="Start after due time" unit="time" lines={LAG} history={history} />
          </div>
        </div>
        <Events events={shown.events} />
      </div>
    </div>
  );
}

function Owners({ picture: { nodes } }: { picture: Picture }): JSX.Element {
  const names = [...new Set(nodes.map(({ name }) => name))].sort(byNumber);
  return (
    <ul class="owners" aria-label="Owners">
      {names.map((name) => (
        <li key={name}>
          <OwnerSign name={name} /> {name}
        </li>
      ))}
    </ul>
  );
}

function Figures({ picture: { shards, nodes, levels, history } }: { picture: Picture }): JSX.Element {
  const sum = (column: readonly number[]): number => column.reduce((total, value) => total + value, 0);
  const last = history.at(-1);
  const owned = shards.filter(({ state }) => state === 'owned').length;
  const lagMs = levels.lagMs.reduce((most, value) => Math.max(most, value), 0);
  const figures: readonly (readonly [name: string, value: string, isWrong?: boolean])[] = [
    ['nodes', String(nodes.length), nodes.some(({ state }) => state === 'suspect' || state === 'unable')],
    ['shards owned', `${owned} / ${shards.length}`, owned < shards.length],
    ['queued', amount(sum(levels.queued))],
    ['due', amount(sum(levels.due))],
    ['in flight', amount(sum(levels.inFlight))],
    ['delivered /s', last === undefined ? '–' : amount(last.delivered)],
    ['latest by', span(lagMs), lagMs > 1_000],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value, isWrong]) => (
        <div key={name} class={isWrong === true ? 'wrong' : ''}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
