// Reads the head of an answer before undici's parser does, and passes on what that parser understands.
//
// undici (like llhttp below it) refuses spellings that HTTP allows: a 100 (Continue) that nobody asked for, folded header lines,
// lines that end with LF alone, a Content-Length that is repeated or stands beside Transfer-Encoding. An answer that is refused
// after the receiver did the work would be delivered again. docs/adr/0007 says why this is not another HTTP client.
//
// Usual heads are passed on as they came; finding out takes one look for each line. Others are written anew, and `isIrregular`
// says so: their connection must not serve again, since its two ends may not agree on where the answer ended.
import { BodyKeeper } from './body-keeper.js';

const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const TAB = 0x09;
const COMMA = 0x2c;
const COLON = 0x3a;
const ONE = 0x31;
const START = Buffer.from('HTTP/');
const MINOR_VERSION_AT = 7;
const STATUS_AT = 9;
/** Lower case. */
const CONTENT_LENGTH = 'content-length:';
const TRANSFER_ENCODING = 'transfer-encoding:';

export class AnswerHead {
  /** Whether any byte of an answer came. */
  isStarted = false;
  /** Whether the head has been passed on; what follows is the parser's alone. */
  isComplete = false;
  isIrregular = false;
  private held: BodyKeeper | null = null;
  /** Where the first line begins that has not been looked at. */
  private lineAt = 0;
  /** Before this there is no line end that has not been looked at. */
  private searchFrom = 0;
  private contentLengths = 0;
  private transferEncodings = 0;

  constructor(private readonly maxBytes: number) {}

  /** Returns the bytes for the parser; null while more are needed. */
  add(chunk: Buffer): Buffer | null {
    this.isStarted = true;
    let bytes = this.held === null ? chunk : this.hold(chunk);
    for (;;) {
      if (!startsLikeHttp(bytes)) return this.pass(bytes);
      const end = this.findEnd(bytes);
      if (end === null) {
        // The parser says what is wrong with one that is too long.
        if (bytes.length >= this.maxBytes) return this.pass(bytes);
        if (this.held === null) this.hold(bytes);
        return null;
      }
      if (!isInterim(bytes)) return this.pass(this.isIrregular ? rewritten(bytes, end) : bytes);
      bytes = bytes.subarray(end);
      this.startOver();
      if (bytes.length === 0) return null;
    }
  }

  private pass(bytes: Buffer): Buffer {
    this.isComplete = true;
    this.held = null;
    return bytes;
  }

  private hold(chunk: Buffer): Buffer {
    // The last chunk may go beyond the limit: nothing of it may be lost.
    this.held ??= new BodyKeeper(Infinity);
    this.held.add(chunk);
    return this.held.body();
  }

  private startOver(): void {
    this.held = null;
    this.lineAt = 0;
    this.searchFrom = 0;
    this.contentLengths = 0;
    this.transferEncodings = 0;
  }

  /** Looks at the lines that are complete. Returns where the body begins; null when the blank line has not come. */
  private findEnd(bytes: Buffer): number | null {
    for (;;) {
      const lineEnd = bytes.indexOf(LF, this.searchFrom);
      if (lineEnd === -1) {
        this.searchFrom = bytes.length;
        return null;
      }
      const start = this.lineAt;
      const hasCr = lineEnd > start && bytes[lineEnd - 1] === CR;
      this.lineAt = this.searchFrom = lineEnd + 1;
      if (!hasCr) this.isIrregular = true;
      if (lineEnd - (hasCr ? 1 : 0) === start) return lineEnd + 1;
      this.lookAtLine(bytes, start, lineEnd);
    }
  }

  private lookAtLine(bytes: Buffer, start: number, end: number): void {
    const first = bytes[start] ?? 0;
    if (first === BLANK || first === TAB) this.isIrregular = true;
    else if (start === 0) {
      if ((bytes[MINOR_VERSION_AT] ?? 0) > ONE) this.isIrregular = true;
    } else if (isNamed(bytes, start, CONTENT_LENGTH)) {
      this.contentLengths++;
      const comma = bytes.indexOf(COMMA, start);
      if (comma !== -1 && comma < end) this.isIrregular = true;
    } else if (isNamed(bytes, start, TRANSFER_ENCODING)) {
      this.transferEncodings++;
    }
    if (this.contentLengths + Math.min(this.transferEncodings, 1) > 1) this.isIrregular = true;
  }
}

function startsLikeHttp(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, START.length);
  return START.compare(bytes, 0, length, 0, length) === 0;
}

/** 1xx but for 101, after which the connection speaks something else. */
function isInterim(bytes: Buffer): boolean {
  return bytes[STATUS_AT] === ONE && bytes.toString('latin1', STATUS_AT, STATUS_AT + 3) !== '101';
}

function isNamed(bytes: Buffer, start: number, name: string): boolean {
  // Few lines have their colon there, and a look is cheaper than a string.
  if (bytes[start + name.length - 1] !== COLON) return false;
  return bytes.toString('latin1', start, start + name.length).toLowerCase() === name;
}

/** The head as RFC 9112 has a sender write it, with the rest as it is. What is beyond understanding is left for the parser to refuse. */
function rewritten(bytes: Buffer, end: number): Buffer {
  const [status = '', ...lines] = bytes.toString('latin1', 0, end).trimEnd().split(/\r?\n/);
  const fields = framed(unfolded(lines));
  const head = [status.replace(/^HTTP\/1\.[2-9]/, 'HTTP/1.1'), ...fields, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes.subarray(end)]);
}

/** RFC 9112 5.2: a line that begins with a blank goes on with the one before. */
function unfolded(lines: readonly string[]): string[] {
  const fields: string[] = [];
  for (const line of lines) {
    const before = fields.at(-1);
    if (/^[ \t]/.test(line) && before !== undefined) fields[fields.length - 1] = `${before.trimEnd()} ${line.trim()}`;
    else fields.push(line);
  }
  return fields;
}

/** RFC 9112 6.3: Transfer-Encoding overrides Content-Length (`identity`, of older servers, is none); equal lengths count once. */
function framed(fields: readonly string[]): string[] {
  const isEncoding = (field: string): boolean => field.toLowerCase().startsWith(TRANSFER_ENCODING);
  const isLength = (field: string): boolean => field.toLowerCase().startsWith(CONTENT_LENGTH);
  const coded = fields.filter((field) => !isEncoding(field) || !/:[ \t]*identity[ \t]*$/i.test(field));
  if (coded.some(isEncoding)) return coded.filter((field) => !isLength(field));
  const lengths = new Set(
    coded.filter(isLength).flatMap((field) =>
      field
        .slice(CONTENT_LENGTH.length)
        .split(',')
        .map((text) => text.trim()),
    ),
  );
  const [length] = lengths;
  if (lengths.size !== 1 || length === undefined) return coded;
  return [...coded.filter((field) => !isLength(field)), `Content-Length: ${length}`];
}
