// Decides which destinations may be called: checks the form of a URL when it is accepted, and every address when it is
// connected to.
import ipaddr from 'ipaddr.js';
import { CarillonError } from '../domain/errors.js';
import { parseUrl } from '../domain/url.js';

/** Error code of a connection that the guard did not allow. */
const DESTINATION_REFUSED = 'DESTINATION_REFUSED';

/**
 * Thrown when a connection was refused. For a message it is a failed attempt like any other, with this text, and
 * follows the retry policy: the name may resolve to another address before the last attempt.
 */
export class DestinationRefusedError extends Error {
  override readonly name = 'DestinationRefusedError';
  readonly code = DESTINATION_REFUSED;

  /**
   * `reason` is null for a name: tenants read this text and must not learn what a name of the internal network resolves
   * to.
   */
  constructor(hostname: string, reason: string | null) {
    const what = reason === null ? 'resolves to a private address' : `is ${reason}`;
    super(
      `destination refused: ${hostname} ${what}, and such addresses are not called here (CARILLON_ALLOW_PRIVATE_DESTINATIONS)`,
    );
  }
}

export interface DestinationUrlOptions {
  /** Longest accepted URL in characters. */
  readonly maxLength?: number;
  /** When false, a URL that names a private address literally is refused at once. Names are never resolved here. */
  readonly allowPrivate?: boolean;
}

const DEFAULT_MAX_URL_LENGTH = 4096;

/** IPv4 addresses that reach services of a cloud platform although their range is public. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

const REASONS: Readonly<Record<string, string>> = {
  unspecified: 'the unspecified address',
  broadcast: 'the broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address',
  loopback: 'a loopback address',
  carrierGradeNat: 'a carrier-grade NAT address',
  private: 'a private address',
  uniqueLocal: 'a unique-local address',
  deprecatedSiteLocal: 'a site-local address',
};

const NAT64_PREFIX = ipaddr.IPv6.parse('64:ff9b::');
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

/**
 * Returns in words what forbids an address ("a loopback address"), or null for a public one. An address that contains
 * an IPv4 address and is translated on the way (mapped, NAT64) is judged by that one. Forms whose inner address is
 * uncertain, or that no destination needs (compatible, 6to4, Teredo, local NAT64), are refused.
 */
export function refusalOfAddress(text: string): string | null {
  if (!ipaddr.isValid(text)) return 'no IP address';
  const address = ipaddr.parse(withHexTail(text));
  if (address instanceof ipaddr.IPv4) return refusalOfIPv4(address);
  if (address.isIPv4MappedAddress()) return refusalOfIPv4(address.toIPv4Address());
  if (address.match(NAT64_PREFIX, 96)) return refusalOfIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)));
  const range = address.range();
  if (range !== 'unicast') return REASONS[range] ?? `a reserved address (${range})`;
  return address.match(GLOBAL_UNICAST, 3) ? null : 'an address outside of global unicast';
}

/** Rewrites `::8.8.8.8` as `::808:808`: the parser reads the former as a mapped address, the system does not. */
function withHexTail(text: string): string {
  const [, head, ...octets] = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)(?:%.*)?$/.exec(text) ?? [];
  if (head === undefined) return text;
  const [a = 0, b = 0, c = 0, d = 0] = octets.map(Number);
  return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function refusalOfIPv4(address: ipaddr.IPv4): string | null {
  const range = address.range();
  if (range !== 'unicast') return REASONS[range] ?? `a reserved address (${range})`;
  return PLATFORM_ADDRESSES.has(address.toString()) ? "an address of a cloud platform's own services" : null;
}

/** As in the URL standard, only such a host is an IPv4 address. */
const LAST_LABEL_IS_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i;

/** Returns the IP address of a URL's host, or null when the host is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  // Most hosts are names, and the parser costs more than the rest of accepting a message.
  if (!bare.includes(':') && !LAST_LABEL_IS_NUMBER.test(bare)) return null;
  return ipaddr.isValid(bare) ? bare : null;
}

/**
 * Checks a destination (or callback, named by `what`) when it is accepted: an absolute http or https URL of bounded
 * length, without credentials. Returns the text unchanged, to be stored verbatim. Resolves no name.
 *
 * @throws CarillonError INVALID_DESTINATION
 */
export function checkDestinationUrl(text: string, what: string, options: DestinationUrlOptions = {}): string {
  const refuse = (problem: string): CarillonError =>
    new CarillonError('INVALID_DESTINATION', `invalid ${what} url: ${problem}`);
  const maxLength = options.maxLength ?? DEFAULT_MAX_URL_LENGTH;
  if (text.length > maxLength) throw refuse(`it has ${text.length} characters, at most ${maxLength} are allowed`);
  if (!/^https?:\/\//i.test(text)) throw refuse('endpoint has invalid scheme, add http:// or https://');
  // URL parsers drop these silently; the called URL would then differ from the signed one.
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f]/.test(text))
    throw refuse('it contains a blank or control character, which must be percent-encoded');
  const repaired = repairedPart(text);
  if (repaired !== null) throw refuse(repaired);
  const url = parseUrl(text);
  if (url === null) throw refuse('endpoint is not an absolute URL with a valid host and port');
  if (/^\.+$/.test(url.hostname)) throw refuse(EMPTY_HOST);
  if (options.allowPrivate === false) {
    const address = literalAddress(url.hostname);
    const reason = address === null ? null : refusalOfAddress(address);
    if (reason !== null) throw refuse(`endpoint resolves to ${reason}: ${address ?? ''}`);
  }
  return text;
}

const EMPTY_HOST =
  'the host is empty: endpoint is not an absolute URL, expected http://host/path with two slashes before the host';
/** Excludes the joiners, which some scripts need. */
const INVISIBLE = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u;

/**
 * Returns what is wrong with a part that URL parsers would repair silently, so that another host or path would be
 * called than is written: `http:///h/x` calls `h`. Returns null when there is no such part.
 */
function repairedPart(text: string): string | null {
  const [beforeQuery = ''] = text.split(/[?#]/, 1);
  if (beforeQuery.includes('\\')) return 'it contains a backslash, which URL parsers read as a slash: write "/" or %5C';
  const authority = /^https?:\/\/([^/]*)/i.exec(beforeQuery)?.[1] ?? '';
  if (authority.includes('@')) {
    return 'it contains credentials, which records would show; send them with Upstash-Forward-Authorization';
  }
  if (authority === '' || authority.startsWith(':')) return EMPTY_HOST;
  if (INVISIBLE.test(authority)) return 'the host has an invisible character, which URL parsers drop';
  if (authority.endsWith(':')) return 'the port is empty: expected a number after ":", or no ":"';
  return null;
}
