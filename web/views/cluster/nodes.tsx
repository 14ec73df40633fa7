// The nodes: how each is, what it owns and carries, when it was heard of; and draining one.

import type { JSX } from 'preact';
import type { NodePicture, Picture } from '../../../src/admin/protocol.js';
import { request } from '../../api/request.js';
import { byNumber } from '../../live/owners.js';
import { ask } from '../../components/confirm.js';
import { say } from '../../components/notices.js';
import { NodeBadge } from '../../components/state.js';
import { amount, bytes, span } from '../../components/time.js';
import { OwnerSign } from './map.js';

export function Nodes({ picture }: { picture: Picture }): JSX.Element {
  const nodes = [...picture.nodes].sort((a, b) => byNumber(a.name, b.name));
  return (
    <section class="sheet scroll" aria-labelledby="nodes">
      <header>
        <h2 id="nodes">Nodes</h2>
      </header>
      <table class="table nodes">
        <thead>
          <tr>
            <th>Node</th>
            <th>State</th>
            <th>Shards</th>
            <th class="number">Heartbeat</th>
            <th class="number">Up</th>
            <th class="number">In flight</th>
            <th class="number">Delivers</th>
            <th class="number">CPU</th>
            <th class="number">Memory</th>
            <th>
              <span class="unseen">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <Row key={node.id} node={node} picture={picture} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row({ node, picture }: { node: NodePicture; picture: Picture }): JSX.Element {
  const { load } = node;
  const ageMs = Math.max(0, picture.atMs - node.heardAtMs);
  const share = node.shards / Math.max(1, picture.cluster.shards);
  return (
    <tr data-node={node.name} class={node.state}>
      <td>
        <OwnerSign name={node.name} /> <strong>{node.name}</strong>
        {node.id === picture.cluster.servedBy && <span class="tag answers">answers you</span>}
      </td>
      <td>
        <NodeBadge state={node.state} />
      </td>
      <td class="share">
        <span>{node.shards}</span>
        <meter min={0} max={1} value={share} aria-label={`${Math.round(100 * share)} % of the shards`} />
      </td>
      <td class={`number ${ageMs > 2.5 * picture.cluster.heartbeatMs ? 'faulted' : ''}`}>{span(ageMs)}</td>
      <td class="number">{span(node.uptimeMs)}</td>
      <td class="number">{load === null ? '–' : `${amount(load.inFlight)} / ${amount(load.capacity)}`}</td>
      <td class="number">{load === null ? '–' : `${amount(load.deliveriesPerS)} /s`}</td>
      <td class="number" title={load === null ? undefined : `Timers wait ${span(load.loopDelayMs)} at most`}>
        {load === null ? '–' : `${Math.round(100 * load.cpu)} %`}
      </td>
      <td class="number">{load === null ? '–' : bytes(load.memoryBytes)}</td>
      <td class="number">
        {(node.state === 'active' || node.state === 'joining') && (
          <button type="button" class="button small" onClick={() => askToDrain(node)}>
            Drain<span class="unseen"> {node.name}</span>
          </button>
        )}
      </td>
    </tr>
  );
}

function askToDrain(node: NodePicture): void {
  ask({
    title: `Drain ${node.name}?`,
    text: `It hands its ${node.shards} shards over to the others, which takes about a second and delivers nothing twice, and takes none from then on. Its process goes on until it is stopped: starting it again is the only way back.`,
    verb: 'Drain it',
    isDanger: true,
    act: async () => {
      await request(`/admin/nodes/${encodeURIComponent(node.id)}/drain`, { method: 'POST' });
      say(`${node.name} drains`);
    },
  });
}
