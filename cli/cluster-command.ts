/** `carillon nodes`, `carillon shards`, `carillon node …`: who is in the cluster, who owns what, and one node's coming and going. */
import type { Command } from 'commander';
import type { NodeShown, ShardShown } from '../src/api/access-schemas.js';
import { shardRanges } from '../src/domain/shard-ranges.js';
import { CliError } from './io.js';
import { localNodes, startLocalNode, type LocalNode } from './local-cluster.js';
import { first, type Runner, type Session } from './session.js';
import { duration } from './times.js';
import { line } from './text.js';

/** A line of the table of nodes: a member of the cluster, a process that the launcher knows, or both. */
interface NodeRow {
  readonly name: string;
  readonly state: string;
  readonly member?: NodeShown | undefined;
  readonly local?: LocalNode | undefined;
}

export function addCluster(program: Command, run: Runner): void {
  program.command('nodes').description('the nodes of the cluster (administrator)').action(run(listNodes));
  program.command('shards').description('who owns which shards (administrator)').action(run(listShards));
  const group = program.command('node').description('one node of the cluster');
  group
    .command('start <name>')
    .description('start a node of `npm start` that has ended, on this machine')
    .action(
      run(async (session, _options, operands) => {
        const node = await startLocalNode(session.home, first(operands));
        session.show(node, () => line`${node.name} is ready (process ${node.pid}, ${node.url})`);
      }),
    );
  group
    .command('drain <name>')
    .description('have a node hand its shards over and take no more; its process goes on (administrator)')
    .action(run(drain));
}

async function listNodes(session: Session): Promise<void> {
  const local = localNodes(session.home);
  let answer: { nodes: NodeShown[] };
  try {
    answer = (await session.api.call('GET', '/admin/nodes')) as { nodes: NodeShown[] };
  } catch (error) {
    // With no node left nobody can answer, and then this is what one wants to know.
    const ended = local.filter(({ state }) => state === 'ended');
    if (!(error instanceof CliError) || ended.length === 0) throw error;
    const names = ended.map(({ name }) => name).join(', ');
    throw new CliError(`${error.message}. Ended: ${names}; start one with: carillon node start ${ended[0]?.name}`, 1);
  }
  session.show(answer, () =>
    session.table(
      [
        { title: 'NODE', cell: ({ name }) => name },
        { title: 'STATE', cell: ({ state }) => state, paint: session.paintState },
        { title: 'SHARDS', cell: ({ member }) => (member === undefined ? '' : String(member.shards)), align: 'right' },
        {
          title: 'UP',
          cell: ({ member }) => (member === undefined ? '' : duration(member.uptimeMs)),
          align: 'right',
          drop: 5,
        },
        {
          title: 'HEARD',
          cell: ({ member }) => (member === undefined ? '' : `${duration(member.heardMs)} ago`),
          align: 'right',
          drop: 3,
        },
        {
          title: 'PROCESS',
          cell: ({ local: known }) => (known === undefined ? '' : String(known.pid)),
          align: 'right',
          drop: 4,
        },
        {
          title: 'PORT',
          cell: ({ local: known }) => (known === undefined ? '' : String(known.port)),
          align: 'right',
          drop: 2,
        },
        { title: 'ID', cell: ({ member }) => member?.id ?? '', drop: 1 },
      ],
      nodeRows(answer.nodes, local),
      'no nodes',
    ),
  );
}

/** One that was killed is a member until its lease lapses; then only the launcher knows it. */
function nodeRows(members: readonly NodeShown[], local: readonly LocalNode[]): NodeRow[] {
  const rows = members.map((member): NodeRow => {
    const known = local.find(({ name }) => name === member.name);
    const state = known?.state === 'ended' ? 'ended' : member.draining ? 'draining' : 'active';
    return { name: member.name, state, member, local: known };
  });
  const others = local
    .filter(({ name }) => !members.some((member) => member.name === name))
    .map((known): NodeRow => ({
      name: known.name,
      state: known.state === 'ended' ? 'ended' : 'starting',
      local: known,
    }));
  return [...rows, ...others].sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}

async function listShards(session: Session): Promise<void> {
  const answer = (await session.api.call('GET', '/admin/shards')) as { shards: ShardShown[] };
  const owners = [...new Set(answer.shards.map(({ owner }) => owner))];
  const rows = owners
    .map((owner) => {
      const owned = answer.shards.filter((shard) => shard.owner === owner);
      return { owner, name: owned[0]?.node ?? owner ?? '(nobody)', owned };
    })
    .sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
  session.show(answer, () =>
    session.table(
      [
        { title: 'NODE', cell: ({ name }) => name },
        { title: 'COUNT', cell: ({ owned }) => String(owned.length), align: 'right' },
        { title: 'SHARDS', cell: ({ owned }) => shardRanges(owned.map(({ shard }) => shard)), min: 20 },
        { title: 'EPOCHS', cell: ({ owned }) => span(owned.map(({ epoch }) => epoch)), drop: 2 },
        { title: 'ID', cell: ({ owner }) => owner ?? '', drop: 1 },
      ],
      rows,
      'no shards',
    ),
  );
}

function span(epochs: readonly number[]): string {
  const least = Math.min(...epochs);
  const most = Math.max(...epochs);
  return least === most ? String(least) : `${least}-${most}`;
}

async function drain(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const wanted = first(operands);
  const { nodes } = (await session.api.call('GET', '/admin/nodes')) as { nodes: NodeShown[] };
  const found = nodes.filter(({ id, name }) => name === wanted || id === wanted);
  const [node] = found;
  if (node === undefined) {
    const names = nodes.map(({ name }) => name).join(', ');
    throw new CliError(`there is no node "${wanted}", only ${names}`, 1);
  }
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(', ');
    throw new CliError(`${found.length} nodes are called "${wanted}": give the id of one, ${ids}`, 1);
  }
  const answer = await session.api.call('POST', `/admin/nodes/${encodeURIComponent(node.id)}/drain`);
  session.show(
    answer,
    () => line`${node.name} hands its ${node.shards} shards over; carillon nodes shows how far it is`,
  );
}
