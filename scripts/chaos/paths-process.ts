/** The paths between nodes and stores, in a process of their own; if the script is killed, it ends what the script leaves behind. */
import { signal, type ProcessIdentity } from '../../cluster/system/processes.js';
import { answerParent } from '../../test/kit/child-channel.js';
import { TcpPath, type PathMode } from './tcp-path.js';

const paths = new Map<string, TcpPath>();

let wards: ProcessIdentity[] = [];

const up = answerParent(
  {
    open: async ({ name, target }: { name: string; target: number }) => {
      const path = await TcpPath.open(target);
      paths.set(name, path);
      return { port: path.port };
    },
    set: ({ names, mode, drop }: { names: string[]; mode: PathMode; drop: boolean }) => {
      for (const name of names) paths.get(name)?.set(mode, drop);
    },
    /** The processes that must not outlive the script. */
    wards: (given: { identities: ProcessIdentity[] }) => {
      wards = given.identities;
    },
  },
  () => {
    for (const identity of wards) signal(identity, 'SIGKILL');
  },
);
up({});
