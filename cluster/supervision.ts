/** Starts a local store again when it ends although nobody asked it to. */
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalStore } from './server-process.js';

/** A store that is started again when it ends. */
export interface KeptStore {
  readonly url: string;
  readonly port: number;
  /** Of the process that serves it now. */
  readonly pid: number;
  stop(): Promise<void>;
}

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** A store that ran this long was well: its next restart is quick again. */
const WELL_AFTER_MS = 60_000;

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

  const watch = async (): Promise<void> => {
    let pauseMs = PAUSE_MS;
    for (;;) {
      const startedAtMs = performance.now();
      await store.gone;
      if (over()) return;
      if (performance.now() - startedAtMs > WELL_AFTER_MS) pauseMs = PAUSE_MS;
      say(`${name} ended by itself; starting it again`);
      restarting = restart(pauseMs);
      await restarting;
      if (over()) return;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  };
  const restart = async (firstPauseMs: number): Promise<void> => {
    for (let pauseMs = firstPauseMs; !over(); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
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
