// The event feed: what the cluster did lately, in words, the latest first.

import type { JSX } from 'preact';
import type { ClusterEvent } from '../../../src/admin/protocol.js';
import { nameOf } from '../../live/owners.js';
import { Icon, type IconName } from '../../components/icons.js';
import type { Tone } from '../../components/state.js';
import { amount, nowMs, span, utcText } from '../../components/time.js';

/** More of them nobody reads. */
const SHOWN = 80;

const LOOKS: Readonly<Record<ClusterEvent['kind'], readonly [Tone, IconName]>> = {
  joined: ['good', 'plus'],
  draining: ['warn', 'drain'],
  left: ['off', 'stop'],
  lapsed: ['bad', 'no'],
  moved: ['wait', 'arrow'],
  given: ['off', 'drain'],
  fenced: ['warn', 'stop'],
  leasesLapsed: ['bad', 'ask'],
  swept: ['off', 'again'],
};

export function Events({ events }: { events: readonly ClusterEvent[] }): JSX.Element {
  const shown = events.slice(-SHOWN).reverse();
  return (
    <section class="sheet feed" aria-labelledby="feed">
      <header>
        <h2 id="feed">Events</h2>
      </header>
      {shown.length === 0 && <p class="pad quiet">Nothing has happened since this node started to look.</p>}
      <ol tabIndex={0} aria-labelledby="feed">
        {shown.map((event) => (
          <Row key={event.id} event={event} />
        ))}
      </ol>
    </section>
  );
}

function Row({ event }: { event: ClusterEvent }): JSX.Element {
  const [tone, icon] = LOOKS[event.kind];
  const { text, more } = told(event);
  return (
    <li class={tone} data-kind={event.kind}>
      <Icon name={icon} size={13} />
      <p>
        {text}
        {more !== '' && <small>{more}</small>}
      </p>
      <time dateTime={new Date(event.atMs).toISOString()} title={`${utcText(event.atMs)} UTC`}>
        {span(Math.max(0, nowMs.value - event.atMs)).replace(/^\d+ ms$/, 'now')}
      </time>
    </li>
  );
}

function told(event: ClusterEvent): { text: string; more: string } {
  switch (event.kind) {
    case 'joined':
      return { text: `${event.name} joined`, more: '' };
    case 'draining':
      return { text: `${event.name} gives its shards away`, more: '' };
    case 'left':
      return { text: `${event.name} left in order`, more: '' };
    case 'lapsed':
      return { text: `${event.name} was not heard of for a lease`, more: '' };
    case 'moved': {
      const from = event.from === null ? '' : ` from ${nameOf(event.from)}`;
      return {
        text: `${nameOf(event.to)} took ${shardCount(event.shards)}${from}`,
        more: `${ranges(event.shards)} in ${span(event.durationMs)}`,
      };
    }
    case 'given':
      return { text: `${nameOf(event.node)} handed ${shardCount(event.shards)} over`, more: ranges(event.shards) };
    case 'fenced':
      return {
        text: `${nameOf(event.node)} found ${shardCount(event.shards)} in other hands`,
        more: ranges(event.shards),
      };
    case 'leasesLapsed':
      return { text: `${nameOf(event.node)} could not keep ${shardCount(event.shards)}`, more: ranges(event.shards) };
    case 'swept':
      return {
        text: `${event.sweep} queued ${amount(event.queued)} ${event.queued === 1 ? 'row' : 'rows'}`,
        more: `${event.sweeps} ${event.sweeps === 1 ? 'sweep' : 'sweeps'} on ${nameOf(event.node)}`,
      };
  }
}

function shardCount(shards: readonly number[]): string {
  return shards.length === 1 ? `shard ${shards[0] ?? ''}` : `${shards.length} shards`;
}

/** `0–85, 90`. */
function ranges(shards: readonly number[]): string {
  const sorted = [...shards].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const shard of sorted) {
    const run = runs.at(-1);
    if (run?.[1] === shard - 1) run[1] = shard;
    else runs.push([shard, shard]);
  }
  const shown = runs.slice(0, 6).map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
  return shown.join(', ') + (runs.length > 6 ? ` and ${runs.length - 6} more runs` : '');
}
