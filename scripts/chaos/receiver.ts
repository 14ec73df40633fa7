/** The receiver as the script sees it. */
import { ChildChannel } from '../../test/kit/child-channel.js';
import type { Call } from './evidence.js';

export interface Receiver {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** Tells which processes may call, so that each call can be traced to its node. */
  watch(pids: readonly number[]): Promise<void>;
  counts(): Promise<{ calls: number; open: number }>;
  calls(): Promise<Call[]>;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const channel = new ChildChannel(new URL('./receiver-process.js', import.meta.url));
  const { port } = (await channel.up) as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    watch: async (pids) => {
      await channel.ask('pids', { pids });
    },
    counts: async () => (await channel.ask('counts')) as { calls: number; open: number },
    calls: async () => {
      const calls: Call[] = [];
      for (;;) {
        const reply = (await channel.ask('log', { from: calls.length })) as { rows: Call[]; total: number };
        calls.push(...reply.rows);
        if (calls.length >= reply.total) return calls;
      }
    },
    stop: () => channel.end(),
  };
}
