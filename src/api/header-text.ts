// Header values are bytes, one character for each; this is how text gets into and out of them, and which may pass at all.

const ASCII = /^[\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A value of a real HTTP header as text: UTF-8 where its bytes are UTF-8, otherwise Latin-1, which
 * is what browsers and Node's fetch send.
 */
export function decodeHeaderText(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/** Whether a header (once in its bytes) can carry the value: no line breaks, NUL or other control characters but the tab. */
export function isHeaderValue(value: string): boolean {
  // eslint-disable-next-line no-control-regex
  return !/[\x00-\x08\x0a-\x1f\x7f]/.test(value) && isWellFormed(value);
}

/** Whether a text has no lone surrogates, that is, has a UTF-8 form. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Whether a text is a header name: a token of RFC 9110, of reasonable length. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/.test(name);
}
