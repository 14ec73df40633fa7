// Simulated receivers: they answer after a while, not always well, and remember every call.

import { deliveryError, type DeliveryResult } from '../../src/delivery/delivery-result.js';
import type { DeliveryRequest, HttpClient } from '../../src/delivery/http-client.js';
import { fromWireMessageId } from '../../src/domain/ids.js';
import type { Process } from './process.js';
import type { World } from './world.js';

export interface Call {
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  readonly atMs: number;
  /** When its sender began it. */
  readonly begunAtMs: number;
  readonly by: string;
}

const FAILS = 0.12;
/** Of some, so that messages fail for good. */
const OFTEN_FAILS = 0.6;
const IS_BAD = /receiver-3|scheduled-s5/;
const IS_SLOW = 0.04;

export class Destinations {
  /** Told of each call as it comes in. */
  onCall: (call: Call) => void = () => undefined;

  constructor(readonly world: World) {}

  clientOf(process: Process): HttpClient {
    return {
      deliver: (request, signal) => this.#deliver(process, request, signal),
      close: () => Promise.resolve(),
      counts: { connections: 0, idle: 0, origins: 0 },
    };
  }

  #deliver(
    process: Process,
    { url, headers }: DeliveryRequest,
    signal: AbortSignal | undefined,
  ): Promise<DeliveryResult> {
    const { world } = this;
    const header = (name: string): string => {
      const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
      return String(entry?.[1] ?? '');
    };
    const id = fromWireMessageId(header('upstash-message-id')) ?? '';
    const attempt = Number(header('upstash-retried')) + 1;
    const begunAtMs = world.nowMs;
    return new Promise((resolve) => {
      world.after(world.random.within(0.2, 2), () => {
        this.onCall({ id, attempt, atMs: world.nowMs, begunAtMs, by: process.id });
      });
      const durationMs = world.random.happens(IS_SLOW) ? world.random.within(500, 4_000) : world.random.within(5, 150);
      const status = world.random.happens(IS_BAD.test(url) ? OFTEN_FAILS : FAILS) ? 500 : 200;
      process.deliver(world.nowMs + durationMs, () => {
        resolve({ kind: 'response', status, headers: {}, body: Buffer.alloc(0), truncated: false, durationMs });
      });
      signal?.addEventListener('abort', () => resolve(deliveryError('ABORTED', 'cut off', 0)));
    });
  }
}
