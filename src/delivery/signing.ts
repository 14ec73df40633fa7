// Signs deliveries: the Upstash-Signature header, an HS256 JWT that the receiver verifies against the URL and the body.
import { createHmac, createSecretKey, hash, randomUUID, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** How long a signature is valid, counted from its creation. */
export const SIGNATURE_VALID_S = 300;

const HEADER_PART = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
const MAX_KEPT_KEYS = 1000;

export interface SignatureInput {
  /** The tenant's current signing key, used as UTF-8 bytes and not decoded. */
  readonly signingKey: string;
  /** The exact URL that is called, query included. */
  readonly url: string;
  readonly body: Uint8Array;
  readonly nowMs: number;
  /** Unique part of the token's id; random when left out. */
  readonly tokenId?: string;
}

// Creating the key object costs as much as signing with it.
const keyObjects = new LRUCache<string, KeyObject>({ max: MAX_KEPT_KEYS });

/**
 * Returns the compact JWT for one attempt; every attempt is signed again. `nbf` is 0 and `iat` is rounded down, so that
 * a receiver whose clock is behind does not reject the token as not yet valid.
 */
export function signDelivery(input: SignatureInput): string {
  const issuedAtS = Math.floor(input.nowMs / 1000);
  const tokenId = input.tokenId ?? randomUUID();
  // A 32-byte hash in base64url has 43 characters and one of padding, which the hosted service sends.
  const bodyHash = `${hash('sha256', input.body, 'base64url')}=`;
  const claims =
    `{"iss":"Upstash","sub":${JSON.stringify(input.url)},"exp":${issuedAtS + SIGNATURE_VALID_S},"nbf":0,"iat":${issuedAtS},` +
    `"jti":${JSON.stringify(`jwt_${tokenId}`)},"body":"${bodyHash}"}`;
  const signed = `${HEADER_PART}.${Buffer.from(claims).toString('base64url')}`;
  return `${signed}.${createHmac('sha256', keyObject(input.signingKey)).update(signed).digest('base64url')}`;
}

function keyObject(signingKey: string): KeyObject {
  let key = keyObjects.get(signingKey);
  if (key === undefined) {
    key = createSecretKey(Buffer.from(signingKey));
    keyObjects.set(signingKey, key);
  }
  return key;
}
