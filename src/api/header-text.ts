// Converts header values, which are bytes with one character each, from and to text, and checks which values are
// allowed.

const ASCII = /^[\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Returns a value of a real HTTP header as text: UTF-8 when its bytes are UTF-8, otherwise Latin-1, which browsers and
 * Node's fetch send.
 */
export function decodeHeaderText(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/**
 * Returns whether a header (as bytes) can contain the value: no line breaks, NUL or other control characters except the
 * tab.
 */
export function isHeaderValue(value: string): boolean {
  // eslint-disable-next-line no-control-regex
  return !/[\x00-\x08\x0a-\x1f\x7f]/.test(value) && isWellFormed(value);
}

/** Returns whether a text has no lone surrogates, that is, has a UTF-8 form. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Returns whether a text is a header name: a token of RFC 9110, of bounded length. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/.test(name);
}
