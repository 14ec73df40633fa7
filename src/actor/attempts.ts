// One attempt: signs, calls, judges the answer, and keeps the outcome until PostgreSQL has it.

import { buildDeliveryHeaders } from '../delivery/request-headers.js';
import type { HttpClient } from '../delivery/http-client.js';
import { firstHeaders, type DeliveryResult } from '../delivery/delivery-result.js';
import { signDelivery } from '../delivery/signing.js';
import { completeCallbackBody } from '../delivery/callback.js';
import { ShownRequest } from '../domain/shown-request.js';
import { judge } from '../domain/attempt-outcome.js';
import type { RandomBytes, Clock } from '../domain/clock.js';
import { depthOf, depthRefusal } from '../domain/depth.js';
import { type MessageId, toWireMessageId } from '../domain/ids.js';
import type { Message } from '../domain/message.js';
import type { NewMessage } from '../postgres/messages/message-columns.js';
import type { Outcome, Recorded } from '../postgres/messages/outcomes.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import { type CallbackSettings, callbacksOf } from './callbacks.js';

export interface AttemptSettings extends CallbackSettings {
  /** Name of this node, for the record. */
  readonly node: string;
  /** How much of an answer the record keeps. */
  readonly keptBytes: number;
  /** How much of its headers. */
  readonly keptHeaderBytes: number;
  /** How much of an answer is read when a callback needs it. */
  readonly answerBytes: number;
  /** Callbacks deeper than this are recorded but not sent. */
  readonly depthMax: number;
  /** No retry is scheduled sooner than this. */
  readonly leastRetryDelayMs: number;
}

/** The next step of an entry in Redis after an attempt. */
export type NextStep =
  | { readonly kind: 'done'; readonly recorded: Recorded; readonly outcome: Outcome }
  | { readonly kind: 'retry'; readonly recorded: Recorded; readonly outcome: Outcome; readonly atMs: number };

export class Attempts {
  readonly #http: HttpClient;
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #signingKey: (tenantId: number) => Promise<string>;
  readonly #settings: AttemptSettings;

  constructor(parts: {
    http: HttpClient;
    recorder: Recorder;
    clock: Clock;
    random: RandomBytes;
    /** The tenant's current signing key. */
    signingKey: (tenantId: number) => Promise<string>;
    settings: AttemptSettings;
  }) {
    this.#http = parts.http;
    this.#recorder = parts.recorder;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#signingKey = parts.signingKey;
    this.#settings = parts.settings;
  }

  /**
   * Makes attempt number `attempt` (from 1) and returns its outcome, which is not recorded yet. Returns null when this
   * node stops and aborts the attempt, or when `isStillToBeSent`, called last, returns false. Rejects with
   * POSTGRES_UNAVAILABLE when the signing key cannot be read; nothing was sent then.
   */
  async make(
    message: Message,
    attempt: number,
    signal: AbortSignal,
    isStillToBeSent: () => true | Promise<boolean>,
  ): Promise<Outcome | null> {
    const signingKey = await this.#signingKey(message.tenantId);
    const whole = message.sourceOf === undefined ? message : await this.#withSource(message, message.sourceOf);
    const sending = isStillToBeSent();
    if (sending !== true && !(await sending)) return null;
    const startedAtMs = this.#clock.nowMs();
    const result = await this.#send(whole, attempt, signingKey, startedAtMs, signal);
    if (result.kind === 'error' && result.code === 'ABORTED') return null;
    return this.#outcome(message, attempt, result, startedAtMs);
  }

  /**
   * Resolves when the outcome is committed. Rejects with POSTGRES_UNAVAILABLE when the node stops before PostgreSQL is
   * back.
   */
  async record(outcome: Outcome): Promise<NextStep> {
    const recorded = await this.#recorder.record(outcome);
    return outcome.nextAttemptAtMs !== null && recorded.taken
      ? { kind: 'retry', recorded, outcome, atMs: outcome.nextAttemptAtMs }
      : { kind: 'done', recorded, outcome };
  }

  /**
   * Adds the source to a callback of a large message, whose stored body omits it. When that message was deleted, the
   * callback is sent without it.
   */
  async #withSource(message: Message, sourceOf: MessageId): Promise<Message> {
    const source = await this.#recorder.readMessage(sourceOf);
    return source === null
      ? message
      : { ...message, body: completeCallbackBody(message.body, ShownRequest.of(source)) };
  }

  #send(
    message: Message,
    attempt: number,
    signingKey: string,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<DeliveryResult> {
    const { destination, body } = message;
    const keepBytes =
      message.callback === null && message.failureCallback === null
        ? this.#settings.keptBytes
        : this.#settings.answerBytes;
    const headers = buildDeliveryHeaders({
      headers: message.headers,
      messageId: toWireMessageId(message.id),
      retried: attempt - 1,
      signature: signDelivery({ signingKey, url: destination, body, nowMs }),
      scheduleId: message.scheduleId,
      callerIp: message.callerIp,
      labels: message.labels,
      occurrenceAtMs: message.occurrenceAtMs,
      idempotencyKey: message.idempotencyKey,
      depth: depthOf(message),
    });
    return this.#http.deliver(
      { url: destination, method: message.method, headers, body, timeoutMs: message.timeoutMs, keepBytes },
      signal,
    );
  }

  #outcome(message: Message, attempt: number, result: DeliveryResult, startedAtMs: number): Outcome {
    const endedAtMs = this.#clock.nowMs();
    const answered = result.kind === 'response';
    // Random bytes are slow to draw, and a success has no delay to spread.
    const random = isSuccess(result) ? 0 : (this.#random(1)[0] ?? 0) / 256;
    const verdict = judge(message, attempt, result, endedAtMs, random, this.#settings.leastRetryDelayMs);
    const exhausted = verdict.state === 'failed';
    const isLast = verdict.state !== 'pending';
    const callbacks = callbacksOf(
      { message, attempt, result, isLast, exhausted, endedAtMs },
      this.#settings,
      this.#random,
    );
    const refusal = depthRefusal(depthOf(message) + 1, this.#settings.depthMax);
    return {
      message,
      state: verdict.state,
      attempt,
      status: answered ? result.status : null,
      error: errorText(result),
      // The headers of a success are not recorded; those of a failure help to find its cause.
      headers:
        answered && verdict.state !== 'delivered' ? firstHeaders(result.headers, this.#settings.keptHeaderBytes) : null,
      body: answered && result.body.length > 0 ? result.body.subarray(0, this.#settings.keptBytes) : null,
      startedAtMs,
      endedAtMs,
      nextAttemptAtMs: verdict.state === 'pending' ? verdict.nextAttemptAtMs : null,
      callbacks: refusal === null ? callbacks : [],
      refusedCallbacks: refusal === null ? [] : callbacks.map((callback) => skipped(callback, refusal)),
      node: this.#settings.node,
    };
  }
}

function skipped(message: Message, reason: string): NewMessage {
  return { message, held: false, skipped: { reason, coversUntilMs: null } };
}

function isSuccess(result: DeliveryResult): boolean {
  return result.kind === 'response' && result.status >= 200 && result.status <= 299;
}

function errorText(result: DeliveryResult): string | null {
  if (result.kind === 'error') return result.message;
  if (isSuccess(result)) return null;
  return `the destination answered ${result.status}`;
}
