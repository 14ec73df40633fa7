/** The cluster that `npm start` runs on this machine: its file `cluster.json`, and requests to its launcher. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ClusterRecord, NodeRecord } from '../cluster/launcher/cluster-file.js';
import { CliError } from './io.js';

export type LocalNode = NodeRecord;

/** The launcher waits for the node to be ready. */
const START_TIMEOUT_MS = 90_000;

/** The nodes that `npm start` runs or ran; none where it does not run. */
export function localNodes(home: string): readonly LocalNode[] {
  return readCluster(home)?.nodes ?? [];
}

/** Asks the launcher to start a node that has ended, and waits until it is ready. Throws a CliFault. */
export async function startLocalNode(home: string, name: string): Promise<LocalNode> {
  const cluster = readCluster(home);
  if (cluster === undefined) throw new CliError(`no cluster.json in ${home}: is \`npm start\` running?`, 1);
  const { url, token, pid } = cluster.launcher;
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(`${url}/nodes/${encodeURIComponent(name)}/start`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(START_TIMEOUT_MS),
    });
    status = response.status;
    answer = await response.json();
  } catch {
    throw new CliError(`the launcher (process ${pid}) does not answer at ${url}: is \`npm start\` running?`, 1);
  }
  if (status !== 200) throw new CliError(String((answer as { error?: unknown }).error), 1);
  return answer as LocalNode;
}

function readCluster(home: string): ClusterRecord | undefined {
  const file = path.join(home, 'cluster.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ClusterRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, 1);
  }
}
