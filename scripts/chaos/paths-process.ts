/** The paths between nodes and stores, in a process of their own. */
import { answerParent } from './child-channel.js';
import { TcpPath, type PathMode } from './tcp-path.js';

const paths = new Map<string, TcpPath>();

const up = answerParent({
  open: async ({ name, target }: { name: string; target: number }) => {
    const path = await TcpPath.open(target);
    paths.set(name, path);
    return { port: path.port };
  },
  set: ({ names, mode, drop }: { names: string[]; mode: PathMode; drop: boolean }) => {
    for (const name of names) paths.get(name)?.set(mode, drop);
  },
});
up({});
