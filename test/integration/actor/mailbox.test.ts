// An actor hears of work at every moment, also while it waits for the answer of a claim that cannot know of it yet.

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeClock, processTime } from '../../../src/time/process-time.js';
import type { ActorParts } from '../../../src/actor/actor-parts.js';
import { ShardActor } from '../../../src/actor/shard-actor.js';
import { Semaphore } from '../../../src/actor/semaphore.js';
import { RedisClock } from '../../../src/redis/redis-clock.js';
import { type Claimed, type LateClaim, type Refusal, ShardQueue } from '../../../src/redis/shard-queue.js';
import { EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';

/** Says when it claims; what is given to `behindTheClaim` happens when Redis has answered and the actor does not know it yet. */
class WatchedQueue extends ShardQueue {
  readonly claimedAtMs: number[] = [];
  behindTheClaim: (() => void) | null = null;

  override async claim(shard: number, epoch: number, limit: number): Promise<Claimed | LateClaim | Refusal> {
    const reply = await super.claim(shard, epoch, limit);
    this.claimedAtMs.push(performance.now());
    this.behindTheClaim?.();
    this.behindTheClaim = null;
    return reply;
  }
}

let open: OpenQueue;
let clock: RedisClock;
beforeAll(async () => {
  open = await openQueue();
  clock = new RedisClock(open.redis, { time: processTime, nodeClock });
  await clock.start();
});
afterAll(async () => {
  clock.stop();
  await open.close();
});

/** An actor with nothing to do, whose longest sleep is a minute. */
function idleActor(
  shard: number,
  renewEpoch: ActorParts['renewEpoch'] = () => Promise.resolve(null),
): { actor: ShardActor; queue: WatchedQueue } {
  const times = { answerMs: 5_000, visibilityMs: 15_000, payloadFreshMs: 5_000, tombstoneMs: 60_000 };
  const queue = new WatchedQueue(open.redis, open.prefix, times, clock);
  const parts: Partial<Record<keyof ActorParts, unknown>> = {
    queue,
    clock,
    log: pino({ level: 'silent' }),
    semaphore: new Semaphore(10),
    recorder: { isAvailable: true },
    renewEpoch,
    time: processTime,
    isTrusted: () => true,
    wake: () => undefined,
    onFenced: () => undefined,
    settings: { claimBatch: 10, idleClaimMs: 60_000 },
  };
  return { actor: new ShardActor(shard, EPOCH, parts as unknown as ActorParts), queue };
}

async function claimedTimes(queue: WatchedQueue, times: number): Promise<void> {
  await expect.poll(() => queue.claimedAtMs.length, { timeout: 5_000, interval: 5 }).toBeGreaterThanOrEqual(times);
}

describe('an actor', () => {
  it('claims again at once when work came in while its claim was answered', async () => {
    await open.ready(1);
    const { actor, queue } = idleActor(1);
    queue.behindTheClaim = () => actor.wake(clock.nowMs());
    actor.start();
    await claimedTimes(queue, 2);
    await actor.stop(0);
  });

  it('claims again in time when work for later came in while its claim was answered', async () => {
    await open.ready(2);
    const { actor, queue } = idleActor(2);
    queue.behindTheClaim = () => actor.wake(clock.nowMs() + 300);
    actor.start();
    await claimedTimes(queue, 2);
    expect(queue.claimedAtMs[1]! - queue.claimedAtMs[0]!).toBeGreaterThan(250);
    await actor.stop(0);
  });

  it('sleeps on for work that is due after its sleep, and wakes for work before', async () => {
    await open.ready(3);
    const { actor, queue } = idleActor(3);
    actor.start();
    await claimedTimes(queue, 1);
    actor.wake(clock.nowMs() + 3_600_000);
    await open.redis.ping();
    expect(queue.claimedAtMs).toHaveLength(1);
    actor.wake(clock.nowMs());
    await claimedTimes(queue, 2);
    await actor.stop(0);
  });

  it('stops at once from its sleep, and may be stopped again', async () => {
    await open.ready(4);
    const { actor, queue } = idleActor(4);
    actor.start();
    await claimedTimes(queue, 1);
    await actor.stop(5_000);
    await actor.stop(5_000);
    expect(actor.isHalted).toBe(true);
  });

  it('goes on when the newer epoch that refused it is its own', async () => {
    await open.ready(6);
    const refused: number[] = [];
    const { actor, queue } = idleActor(6, (_shard, epoch) => {
      refused.push(epoch);
      // The renewal that installed it is told of just now.
      actor.renew(EPOCH + 1);
      return Promise.resolve(EPOCH + 1);
    });
    await open.queue.fence(6, EPOCH + 1);
    actor.start();
    await claimedTimes(queue, 2);
    expect(refused).toEqual([EPOCH]);
    expect(actor.isHalted).toBe(false);
    await actor.stop(0);
  });

  it('stops by itself when its shard has another owner', async () => {
    await open.ready(5);
    const { actor, queue } = idleActor(5);
    actor.start();
    await claimedTimes(queue, 1);
    await open.queue.fence(5, EPOCH + 1);
    actor.wake(clock.nowMs());
    await expect.poll(() => actor.isHalted).toBe(true);
    await actor.stop(0);
  });
});
