/** The options by which a message or a schedule says what is sent and how, and the headers that they become. */
import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { usageError, type Io } from './io.js';

export interface RequestOptions {
  readonly body?: string;
  readonly bodyText?: string;
  readonly header?: readonly string[];
  readonly method?: string;
  readonly delay?: string;
  readonly retries?: string;
  readonly retryDelay?: string;
  readonly timeout?: string;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly label?: readonly string[];
  readonly key?: string;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication?: true;
  readonly redact?: string;
}

export type HeaderList = [name: string, value: string][];

/** The settings that are one header each. */
const SETTINGS = [
  ['method', 'Upstash-Method'],
  ['delay', 'Upstash-Delay'],
  ['retries', 'Upstash-Retries'],
  ['retryDelay', 'Upstash-Retry-Delay'],
  ['timeout', 'Upstash-Timeout'],
  ['callback', 'Upstash-Callback'],
  ['failureCallback', 'Upstash-Failure-Callback'],
  ['key', 'Carillon-Idempotency-Key'],
  ['deduplicationId', 'Upstash-Deduplication-Id'],
  ['redact', 'Upstash-Redact-Fields'],
] as const satisfies readonly (readonly [keyof RequestOptions, string])[];

export const collect = (value: string, before: readonly string[] | undefined): string[] => [...(before ?? []), value];

export function addRequestOptions(command: Command, keyHelp: string): Command {
  return command
    .option(
      '-b, --body <text>',
      'what is sent: the text itself, @file for the bytes of a file, - for the standard input',
    )
    .addOption(new Option('--body-text <text>', 'sent as it stands, also when it begins with @').conflicts('body'))
    .option('-H, --header <header>', "sent to the destination, as 'Name: value'; repeatable", collect)
    .option('-X, --method <method>', 'GET, POST, PUT, PATCH or DELETE (default POST)')
    .option('--delay <duration>', 'wait so long before it is sent, such as 10m or 1d12h')
    .option('--retries <number>', 'attempts after the first')
    .option('--retry-delay <expression>', 'milliseconds before a retry, such as "1000 * pow(2, retried)"')
    .option('--timeout <duration>', 'how long an attempt may take')
    .option('--callback <url>', 'told of each attempt')
    .option('--failure-callback <url>', 'told when every attempt has failed')
    .option('-l, --label <labels>', 'to find it by; separated by commas, or repeated', collect)
    .option('-k, --key <key>', keyHelp)
    .option('--deduplication-id <id>', 'accepted once within the deduplication time')
    .option('--content-based-deduplication', 'accepted once for the same destination, body and headers')
    .option('--redact <fields>', 'shown as a hash afterwards: body, header, header[Name]');
}

/** The headers that the options stand for; the body says whether a content type is wanted. */
export function requestHeaders(options: RequestOptions, body: Buffer | undefined): HeaderList {
  const headers: HeaderList = (options.header ?? []).map(readHeader);
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type');
  if (!hasType && body !== undefined && isJson(body)) headers.push(['Content-Type', 'application/json']);
  for (const [name, header] of SETTINGS) {
    const value = options[name];
    if (value !== undefined) headers.push([header, value]);
  }
  if (options.contentBasedDeduplication === true) headers.push(['Upstash-Content-Based-Deduplication', 'true']);
  if (options.label !== undefined) headers.push(['Upstash-Label', options.label.join(',')]);
  return headers;
}

/** The bytes to send; undefined when there are none. Throws a usage fault when a file cannot be read. */
export async function readBody({ body, bodyText }: RequestOptions, io: Io): Promise<Buffer | undefined> {
  if (bodyText !== undefined) return Buffer.from(bodyText, 'utf8');
  if (body === undefined) return undefined;
  if (body === '-') return await io.input();
  if (!body.startsWith('@')) return Buffer.from(body, 'utf8');
  try {
    return readFileSync(body.slice(1));
  } catch (error) {
    throw usageError(`--body ${body}: ${(error as Error).message} (--body-text sends a text that begins with @)`);
  }
}

/** Where it goes, as one part of a path: whatever is in it reaches the API as it was given. */
export function destinationPath(destination: string): string {
  if (!/^https?:\/\//i.test(destination)) {
    throw usageError(
      `${JSON.stringify(destination.slice(0, 80))} is no destination, expected a URL with http:// or https://`,
    );
  }
  return encodeURIComponent(destination);
}

/** Whatever is no setting is meant for the destination. */
function readHeader(text: string): [string, string] {
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0)).trim();
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw usageError(`--header ${JSON.stringify(text.slice(0, 60))}: expected 'Name: value'`);
  }
  const isSetting = /^(?:upstash-|carillon-|content-type$)/i.test(name);
  return [isSetting ? name : `Upstash-Forward-${name}`, text.slice(colon + 1).trim()];
}

function isJson(body: Buffer): boolean {
  const begin = body.subarray(0, 64).toString('latin1').trimStart();
  if (!/^[[{]/.test(begin)) return false;
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
