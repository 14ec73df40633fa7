/** The API as the load uses it: the official client, through the load balancer, with its own retries off so that every answer counts. */
import { Client } from '@upstash/qstash';
import { TOKEN } from './node-settings.js';

/** How the requests went. */
export interface RequestCounts {
  ok: number;
  /** Answers 503, which ask to come again. */
  unavailable: number;
  /** Other answers that are no success, such as 502 from the load balancer when a node died with the request. */
  refused: number;
  /** No answer within the time given, or a connection that broke. */
  broken: number;
}

/** What came of a request. */
export type Answer<Value> =
  { readonly kind: 'ok'; readonly value: Value } | { readonly kind: 'refused'; readonly status: number | null };

const ANSWER_MS = 40_000;

export class Api {
  readonly client: Client;
  #changesBy: Client;
  readonly counts: RequestCounts = { ok: 0, unavailable: 0, refused: 0, broken: 0 };

  constructor(baseUrl: string) {
    this.client = clientOf(baseUrl);
    this.#changesBy = this.client;
  }

  /** From now on cancels and changes of schedules are asked of this node alone; of any one again without it. */
  sendChangesTo(nodeUrl?: string): void {
    this.#changesBy = nodeUrl === undefined ? this.client : clientOf(nodeUrl);
  }

  /** A request that changes what is there already. As `ask`. */
  change<Value>(work: (client: Client) => Promise<Value>, expected: readonly number[] = []): Promise<Answer<Value>> {
    const client = this.#changesBy;
    return this.ask(() => work(client), expected);
  }

  /** Makes a request; never rejects. `expected` are statuses that are an answer like any other. */
  async ask<Value>(work: (client: Client) => Promise<Value>, expected: readonly number[] = []): Promise<Answer<Value>> {
    const late = new AbortController();
    try {
      const value = await Promise.race([work(this.client), rejectAfter(ANSWER_MS, late.signal)]);
      this.counts.ok += 1;
      return { kind: 'ok', value };
    } catch (error) {
      const status = statusOf(error);
      if (status === null) this.counts.broken += 1;
      else if (expected.includes(status)) this.counts.ok += 1;
      else if (status === 503) this.counts.unavailable += 1;
      else this.counts.refused += 1;
      return { kind: 'refused', status };
    } finally {
      late.abort();
    }
  }
}

function clientOf(baseUrl: string): Client {
  return new Client({ baseUrl, token: TOKEN, devMode: false, retry: false, enableTelemetry: false });
}

function statusOf(error: unknown): number | null {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : null;
}

function rejectAfter(afterMs: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${afterMs} ms`)), afterMs);
    signal.addEventListener('abort', () => clearTimeout(timer));
  });
}
