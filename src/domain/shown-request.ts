// The part of a request that everybody but the receiver may see: the only way from a stored request to a view, a list
// or a callback's body.
//
// Records for readers contain a ShownRequest instead of headers, body and callbacks, and only `ShownRequest.of` creates
// one. So a view that forgets to redact does not compile.
import type { CallbackSpec, HeaderMap } from './message.js';
import { parseRedaction, redactBody, redactHeaders, type Redaction } from './redaction.js';

/** A request as it is delivered, with the fields to hide. */
export interface StoredRequest {
  readonly headers: HeaderMap;
  /** Null when it was not read. */
  readonly body: Buffer | null;
  readonly callback: CallbackSpec | null;
  readonly failureCallback: CallbackSpec | null;
  /** Upstash-Redact-Fields, verbatim. */
  readonly redact: string | null;
}

export type ShownCallback = Pick<CallbackSpec, 'url' | 'headers'>;

export class ShownRequest {
  /** Makes the type nominal: no object literal is one. */
  declare protected readonly isMadeByOf: true;

  private constructor(
    readonly headers: HeaderMap,
    /** The hash, as text, when it is redacted; null when it was not read. */
    readonly body: Buffer | null,
    readonly callback: ShownCallback | null,
    readonly failureCallback: ShownCallback | null,
    private readonly isBodyHidden = false,
  ) {}

  static of({ headers, body, callback, failureCallback, redact }: StoredRequest): ShownRequest {
    if (redact === null) return new ShownRequest(headers, body, callback, failureCallback);
    const redaction = parseRedaction(redact);
    return new ShownRequest(
      redactHeaders(redaction, headers),
      shownBody(redaction, body),
      shownCallback(redaction, callback),
      shownCallback(redaction, failureCallback),
      redaction.body,
    );
  }

  /** Returns the same with a completed body; a body that is hidden, or was not read, stays unchanged. */
  withWholeBody(complete: (body: Buffer) => Buffer): ShownRequest {
    if (this.body === null || this.isBodyHidden) return this;
    return new ShownRequest(this.headers, complete(this.body), this.callback, this.failureCallback);
  }
}

function shownBody(redaction: Redaction, body: Buffer | null): Buffer | null {
  const hash = body === null || body.length === 0 ? null : redactBody(redaction, body);
  return hash === null ? body : Buffer.from(hash);
}

function shownCallback(redaction: Redaction, callback: CallbackSpec | null): ShownCallback | null {
  return callback === null ? null : { url: callback.url, headers: redactHeaders(redaction, callback.headers) };
}
