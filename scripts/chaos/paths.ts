/** The paths between each node and each store, as the script sees them. */
import type { ProcessIdentity } from '../../cluster/system/processes.js';
import { ChildChannel } from '../../test/kit/child-channel.js';
import type { PathMode } from './tcp-path.js';

export interface StoreUrls {
  readonly postgres: string;
  readonly redis: string;
  readonly locks: readonly string[];
}

export type Store = 'postgres' | 'redis' | 'locks';

export interface Paths {
  /** Makes a node's own paths to the stores; gives the urls that lead through them. */
  lay(node: string, stores: StoreUrls): Promise<StoreUrls>;
  /** Changes a node's paths to some stores. `drop` resets what is connected. */
  set(node: string, stores: readonly Store[], mode: PathMode, drop?: boolean): Promise<void>;
  /** If this process is killed, these are killed as well. */
  ward(identities: readonly ProcessIdentity[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startPaths(): Promise<Paths> {
  const channel = new ChildChannel(new URL('./paths-process.js', import.meta.url));
  await channel.up;
  const laid = new Map<string, string[]>();
  const through = async (node: string, store: Store, url: string, index = 0): Promise<string> => {
    const name = `${node} ${store} ${index}`;
    const address = new URL(url);
    const { port } = (await channel.ask('open', { name, target: Number(address.port) })) as { port: number };
    address.port = String(port);
    laid.set(`${node} ${store}`, [...(laid.get(`${node} ${store}`) ?? []), name]);
    return address.href;
  };
  return {
    lay: async (node, { postgres, redis, locks }) => {
      const lockUrls: string[] = [];
      for (const [index, url] of locks.entries()) lockUrls.push(await through(node, 'locks', url, index));
      return {
        postgres: await through(node, 'postgres', postgres),
        redis: await through(node, 'redis', redis),
        locks: lockUrls,
      };
    },
    set: async (node, stores, mode, drop = false) => {
      const names = stores.flatMap((store) => laid.get(`${node} ${store}`) ?? []);
      await channel.ask('set', { names, mode, drop });
    },
    ward: async (identities) => {
      await channel.ask('wards', { identities });
    },
    stop: () => channel.end(),
  };
}
