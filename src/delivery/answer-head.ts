// Reads the head of an answer before undici's parser does, and passes on what that parser understands.
//
// undici (like llhttp inside it) refuses forms that HTTP allows: a 100 (Continue) without a request for it, folded
// header lines, lines that end with LF alone, a Content-Length that is repeated or combined with Transfer-Encoding.
// When an answer is refused after the receiver did the work, the message would be delivered again. docs/adr/0007
// explains why we keep this HTTP client.
//
// Regular heads are passed on unchanged, after one check per line. Others are rewritten, and `isIrregular` is set:
// their connection must not be reused, since its two ends may not agree on where the answer ended.
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
  /** Whether any byte of an answer arrived. */
  isStarted = false;
  /** Whether the head has been passed on; the parser alone reads what follows. */
  isComplete = false;
  isIrregular = false;
  private buffered: BodyKeeper | null = null;
  /** Start of the first line that has not been checked. */
  private lineAt = 0;
  /** No unchecked line end is before this. */
  private searchFrom = 0;
  private contentLengths = 0;
  private transferEncodings = 0;

  constructor(private readonly maxBytes: number) {}

  /** Returns the bytes for the parser; null while more are needed. */
  add(chunk: Buffer): Buffer | null {
    this.isStarted = true;
    let bytes = this.buffered === null ? chunk : this.buffer(chunk);
    for (;;) {
      if (!startsLikeHttp(bytes)) return this.pass(bytes);
      const end = this.findEnd(bytes);
      if (end === null) {
        // The parser reports what is wrong with a head that is too long.
        if (bytes.length >= this.maxBytes) return this.pass(bytes);
        if (this.buffered === null) this.buffer(bytes);
        return null;
      }
      if (!isInterim(bytes)) return this.pass(this.isIrregular ? rewritten(bytes, end) : bytes);
      bytes = bytes.subarray(end);
      this.reset();
      if (bytes.length === 0) return null;
    }
  }

  private pass(bytes: Buffer): Buffer {
    this.isComplete = true;
    this.buffered = null;
    return bytes;
  }

  private buffer(chunk: Buffer): Buffer {
    // The last chunk may exceed the limit: none of it may be lost.
    this.buffered ??= new BodyKeeper(Infinity);
    this.buffered.add(chunk);
    return this.buffered.body();
  }

  private reset(): void {
    this.buffered = null;
    this.lineAt = 0;
    this.searchFrom = 0;
    this.contentLengths = 0;
    this.transferEncodings = 0;
  }

  /** Checks the complete lines. Returns where the body begins; null when the blank line has not arrived. */
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
      this.checkLine(bytes, start, lineEnd);
    }
  }

  private checkLine(bytes: Buffer, start: number, end: number): void {
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

/** Returns whether a head is interim: 1xx except 101, after which the connection uses another protocol. */
function isInterim(bytes: Buffer): boolean {
  return bytes[STATUS_AT] === ONE && bytes.toString('latin1', STATUS_AT, STATUS_AT + 3) !== '101';
}

function isNamed(bytes: Buffer, start: number, name: string): boolean {
  // Few lines have their colon there, and this check is cheaper than building a string.
  if (bytes[start + name.length - 1] !== COLON) return false;
  return bytes.toString('latin1', start, start + name.length).toLowerCase() === name;
}

/**
 * Rewrites the head in the form that RFC 9112 requires of a sender, and appends the rest unchanged. The parser refuses
 * a head that cannot be understood.
 */
function rewritten(bytes: Buffer, end: number): Buffer {
  const [status = '', ...lines] = bytes.toString('latin1', 0, end).trimEnd().split(/\r?\n/);
  const fields = framed(unfolded(lines));
  const head = [status.replace(/^HTTP\/1\.[2-9]/, 'HTTP/1.1'), ...fields, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes.subarray(end)]);
}

/** Joins folded lines (RFC 9112 5.2): a line that starts with a blank continues the one before. */
function unfolded(lines: readonly string[]): string[] {
  const fields: string[] = [];
  for (const line of lines) {
    const before = fields.at(-1);
    if (/^[ \t]/.test(line) && before !== undefined) fields[fields.length - 1] = `${before.trimEnd()} ${line.trim()}`;
    else fields.push(line);
  }
  return fields;
}

/**
 * Resolves the framing (RFC 9112 6.3): Transfer-Encoding overrides Content-Length (`identity`, from older servers,
 * counts as none); equal lengths count once.
 */
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
