/** Reads the JSON logs of all lives of the nodes, and learns from them by which identity each life went. */
import { readFileSync } from 'node:fs';
import type { Grant, NodeEvent } from './evidence.js';
import type { LoggedLife } from './node.js';

const FATAL = 60;

/** Sets each life's identity; what the log does not say, the grants may. */
export function readLogs(lives: readonly LoggedLife[], grants: readonly Grant[]): NodeEvent[] {
  return lives.flatMap(({ life, log }) => {
    const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean).map(readLine);
    const ready = lines.find(({ msg }) => msg === 'ready')?.fields.identity;
    life.identity = typeof ready === 'string' ? ready : identityByGrants(life, grants);
    return lines.map((line) => ({ ...line, node: life.name, identity: life.identity }));
  });
}

function readLine(line: string): Omit<NodeEvent, 'node' | 'identity'> {
  try {
    const fields = JSON.parse(line) as Record<string, unknown>;
    const { level, msg, time } = fields;
    return { level: Number(level), msg: String(msg), atMs: Date.parse(String(time)), fields };
  } catch {
    // Node's own words about a process that ends: a stack, or a warning, which is no crash.
    const isWarning = /^\(node:\d+\)|^\(Use `node/.test(line);
    return { level: isWarning ? 40 : FATAL, msg: line, atMs: 0, fields: {} };
  }
}

/** A process that died before it was ready may own shards already. */
function identityByGrants(life: LoggedLife['life'], grants: readonly Grant[]): string | null {
  const ours = new RegExp(`^${life.name}-[0-9a-f]{8}$`);
  const found = grants.find(
    ({ node, atMs }) =>
      node !== null && ours.test(node) && atMs >= life.spawnedAtMs && atMs <= (life.endedAtMs ?? Infinity),
  );
  return found?.node ?? null;
}
