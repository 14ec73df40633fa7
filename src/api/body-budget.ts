// Limits the bytes of request bodies that a node keeps at a time: each body is counted before it is read and until it
// is no longer needed.
//
// An eighth of the total is reserved for small bodies, so that single messages are accepted however many batches
// arrive. Each tenant has a share of the total, which small bodies may exceed slightly, so that no tenant takes all of
// it.

import type { Config } from '../config.js';
import { CarillonError } from '../domain/errors.js';

/** Largest size of a small body. */
export const SMALL_BODY_BYTES = 64 * 1_024;
const PART_FOR_SMALL = 1 / 8;

export class BodyBudget {
  readonly #maxBytes: number;
  readonly #maxTenantBytes: number;
  readonly #forSmall: number;
  #bytes = 0;
  readonly #byTenant = new Map<number, number>();

  constructor(config: Config) {
    this.#maxBytes = config.CARILLON_BODIES_MAX_BYTES;
    this.#maxTenantBytes = config.CARILLON_TENANT_BODIES_MAX_BYTES;
    this.#forSmall = this.#maxBytes * PART_FOR_SMALL;
  }

  /** Bytes in use now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a body. Throws TENANT_BUSY, NODE_BUSY. */
  hold(tenantId: number, bytes: number): HeldBody {
    const held = new HeldBody((from, to) => this.#change(tenantId, from, to));
    held.growTo(bytes);
    return held;
  }

  #change(tenantId: number, from: number, to: number): void {
    const bytes = this.#bytes + to - from;
    const ofTenant = (this.#byTenant.get(tenantId) ?? 0) + to - from;
    if (to > from) {
      const isSmall = to <= SMALL_BODY_BYTES;
      if (ofTenant > this.#maxTenantBytes + (isSmall ? this.#forSmall / 2 : 0)) throw tenantBusy(this.#maxTenantBytes);
      if (bytes > this.#maxBytes - (isSmall ? 0 : this.#forSmall)) throw nodeBusy(this.#maxBytes);
    }
    this.#bytes = bytes;
    if (ofTenant === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, ofTenant);
  }
}

/** A counted body. */
export class HeldBody {
  readonly #change: (from: number, to: number) => void;
  #bytes = 0;

  constructor(change: (from: number, to: number) => void) {
    this.#change = change;
  }

  /** Raises the count to this many bytes. Throws TENANT_BUSY, NODE_BUSY, and then keeps the count. */
  growTo(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#change(this.#bytes, bytes);
    this.#bytes = bytes;
  }

  /** Ends the count; once. */
  release(): void {
    this.#change(this.#bytes, 0);
    this.#bytes = 0;
  }
}

function tenantBusy(maxBytes: number): CarillonError {
  return new CarillonError(
    'TENANT_BUSY',
    `bodies of this tenant's requests fill the ${maxBytes} bytes that it may have here (CARILLON_TENANT_BODIES_MAX_BYTES): send the request again in a moment`,
  );
}

function nodeBusy(maxBytes: number): CarillonError {
  return new CarillonError(
    'NODE_BUSY',
    `request bodies fill the ${maxBytes} bytes that this node has for them (CARILLON_BODIES_MAX_BYTES): send the request again in a moment`,
  );
}
