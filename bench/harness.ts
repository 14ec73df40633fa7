/** What every contender runs on: the stores, the receiver, and the time. */
import { Child } from './child.js';
import type { Arrivals } from './receiver.js';
import { startStores, type BenchStores, type StoreOptions } from './stores.js';

export interface Harness {
  readonly stores: BenchStores;
  readonly receiver: Child;
  /** What the receiver is called at. */
  readonly url: string;
  /** Messages that a fresh process meets before it is measured. */
  readonly warmUpMessages: number;
}

export interface HarnessOptions extends StoreOptions {
  readonly warmUpMessages?: number;
}

const WARM_UP = 2_000;

/** Runs `work` on stores and a receiver of its own, and ends them after it, also when it fails or is interrupted. */
export async function onHarness(options: HarnessOptions, work: (harness: Harness) => Promise<void>): Promise<void> {
  const stores = await startStores(options);
  const receiver = new Child('receiver.js', {});
  const interrupted = new Promise<never>((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(signal)));
  });
  try {
    const { url } = await receiver.next<{ kind: string; url: string }>('listening');
    const { warmUpMessages = WARM_UP } = options;
    await Promise.race([work({ stores, receiver, url, warmUpMessages }), interrupted]);
  } finally {
    await receiver.stop();
    await stores.stop();
  }
}

/** Starts a receiver; `url` is what it is called at. */
export async function startReceiver(): Promise<{ receiver: Child; url: string }> {
  const receiver = new Child('receiver.js', {});
  const { url } = await receiver.next<{ kind: string; url: string }>('listening');
  return { receiver, url };
}

/** Tells the receiver how many messages to wait for; gives the wait. */
export async function expectMessages(
  { receiver }: Pick<Harness, 'receiver'>,
  messages: number,
): Promise<() => Promise<Arrivals>> {
  await receiver.ask({ kind: 'expect', messages }, 'expecting');
  const arrived = receiver.next<Arrivals>('arrived');
  // Not everybody waits for it: some know by themselves when they are done.
  arrived.catch(() => undefined);
  return () => arrived;
}

const WARM_UP_REST_MS = 1_000;

/** Lets a fresh process meet its work before it is measured. `send` makes messages that are due at once. */
export async function warmUp(harness: Harness, send: (count: number) => Promise<void>): Promise<void> {
  const arrived = await expectMessages(harness, harness.warmUpMessages);
  await send(harness.warmUpMessages);
  await arrived();
  await sleep(WARM_UP_REST_MS);
}

/** The wall clock in epoch milliseconds, with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

export function sleepUntil(atMs: number): Promise<void> {
  return sleep(Math.max(0, atMs - now()));
}
