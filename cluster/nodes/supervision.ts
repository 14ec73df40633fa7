/** Starts a local store again when it ends although nobody asked it to. */
import { setTimeout as delay } from 'node:timers/promises';
import { Backoff } from './backoff.js';
import type { LocalStore } from '../system/server-process.js';

/** A store that is started again when it ends. */
export interface KeptStore {
  readonly url: string;
  readonly port: number;
  /** Of the process that serves it now. */
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts the store and keeps it running until `stop`. Fails only if the first start does; later ones are tried again, with
 * growing pauses, because the nodes wait for their stores and lose nothing meanwhile.
 */
export async function keepRunning(
  name: string,
  startStore: (port?: number) => Promise<LocalStore>,
  stopping: () => boolean,
  say: (line: string) => void,
  onRestart: () => void = () => undefined,
): Promise<KeptStore> {
  let store = await startStore();
  let stopped = false;
  let restarting: Promise<void> = Promise.resolve();
  const over = (): boolean => stopped || stopping();

  const backoff = new Backoff();
  const watch = async (): Promise<void> => {
    for (;;) {
      const startedAtMs = performance.now();
      await store.gone;
      if (over()) return;
      say(`${name} ended by itself; starting it again`);
      restarting = restart(performance.now() - startedAtMs);
      await restarting;
      if (over()) return;
    }
  };
  const restart = async (ranMs: number): Promise<void> => {
    for (let pauseMs = backoff.next(ranMs); !over(); pauseMs = backoff.next(0)) {
      await delay(pauseMs);
      if (over()) return;
      try {
        // The nodes know their store by this port and no other.
        store = await startStore(store.port);
        say(`${name} runs again`);
        onRestart();
        return;
      } catch (error) {
        say((error as Error).message);
      }
    }
  };
  void watch();

  return {
    url: store.url,
    port: store.port,
    get pid() {
      return store.pid;
    },
    stop: async () => {
      stopped = true;
      await restarting;
      await store.stop();
    },
  };
}
