/** The file that says which process runs the cluster of a data folder, so that there is only ever one. */
import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { writePrivate } from '../system/private-file.js';
import { identify, isRunning, type ProcessIdentity } from '../system/processes.js';

interface RunRecord {
  readonly launcher: ProcessIdentity;
  /** The nodes that were started: they may outlive a launcher that was killed. */
  readonly nodes?: readonly ProcessIdentity[];
  /** What an older launcher wrote, which had one. */
  readonly node?: ProcessIdentity;
}

export interface RunClaim {
  /** Nodes that an earlier, killed launcher left running. */
  readonly leftNodes: readonly ProcessIdentity[];
  /** Notes the nodes that run now. */
  setNodes(nodes: readonly ProcessIdentity[]): void;
  release(): void;
}

/** Thrown when another process runs this data folder. */
export class AlreadyRunning extends Error {
  constructor(readonly pid: number) {
    super(`Carillon already runs on this folder, as process ${pid}`);
  }
}

/** Claims the data folder for this process. Throws AlreadyRunning if a live one has it. */
export function claimRun(file: string): RunClaim {
  const launcher = identify(process.pid);
  if (launcher === undefined) throw new Error('cannot read when this process started');
  let leftNodes: readonly ProcessIdentity[] = [];
  for (;;) {
    if (publish(file, { launcher, nodes: leftNodes })) break;
    const found = read(file);
    if (found === undefined) continue;
    if (isRunning(found.launcher)) throw new AlreadyRunning(found.launcher.pid);
    if (removeStale(file, found)) leftNodes = found.nodes ?? (found.node === undefined ? [] : [found.node]);
  }
  return {
    leftNodes: leftNodes.filter(isRunning),
    setNodes: (nodes) => writePrivate(file, JSON.stringify({ launcher, nodes })),
    release: () => rmSync(file, { force: true }),
  };
}

/** Puts a complete file in place only if there is none. */
function publish(file: string, record: RunRecord): boolean {
  const draft = `${file}.${process.pid}`;
  writePrivate(draft, JSON.stringify(record));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Takes a dead launcher's file away; false if somebody else did so first and theirs was put back. */
function removeStale(file: string, expected: RunRecord): boolean {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const taken = read(aside);
  const same =
    taken?.launcher.pid === expected.launcher.pid && taken.launcher.startedAt === expected.launcher.startedAt;
  if (!same) linkSync(aside, file);
  rmSync(aside, { force: true });
  return same;
}

function read(file: string): RunRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${file} cannot be read (${String(error)}); delete it if no Carillon runs on this folder`, {
      cause: error,
    });
  }
}
