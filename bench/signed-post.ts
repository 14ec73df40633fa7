/** The call that all contenders make: a signed POST over kept-alive connections, with undici. */
import { Pool } from 'undici';
import { buildDeliveryHeaders, type DeliveryHeaders } from '../src/delivery/request-headers.js';
import { signDelivery } from '../src/delivery/signing.js';
import { DUE_HEADER } from './receiver-headers.js';

export const SIGNING_KEY = 'sig_bench_current_key_0123456789';

/** A body of exactly 200 bytes. */
export function bodyOf(index: number): string {
  const head = `{"n":${index},"pad":"`;
  return `${head}${'x'.repeat(200 - head.length - 2)}"}`;
}

export function signedHeaders(url: string, messageId: string, body: string, dueAtMs: number | null): DeliveryHeaders {
  return buildDeliveryHeaders({
    headers: {
      'Content-Type': ['application/json'],
      ...(dueAtMs === null ? {} : { [DUE_HEADER]: [String(dueAtMs)] }),
    },
    messageId,
    retried: 0,
    signature: signDelivery({ signingKey: SIGNING_KEY, url, body: Buffer.from(body), nowMs: Date.now() }),
    callerIp: '127.0.0.1',
  });
}

export type Post = (headers: DeliveryHeaders, body: string) => Promise<void>;

/** Posts to one URL over at most `connections` connections. Throws unless the answer is 200. */
export function createPost(url: string, connections: number): Post {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  return async (headers, body) => {
    const answer = await pool.request({
      method: 'POST',
      path: pathname,
      headers: headers as Record<string, string | string[]>,
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`);
  };
}
