// Facts about the heads of answers: what reaches the parser is the same however the bytes were cut (issue 11, C).
import { describe, expect, it } from 'vitest';
import { AnswerHead } from '../../../src/delivery/answer-head.js';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** What the parser gets of these pieces, all together. */
function read(pieces: readonly Buffer[], maxBytes = 1_000): { text: string; head: AnswerHead } {
  const head = new AnswerHead(maxBytes);
  const passed = pieces.map((piece) => (head.isComplete ? piece : (head.add(piece) ?? bytes(''))));
  return { text: Buffer.concat(passed).toString('latin1'), head };
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('the head of an answer', () => {
  it.each([
    ['is as usual', OK, OK, false],
    ['follows announcements', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n${OK}`, OK, false],
    ['ends lines with LF', 'HTTP/1.1 200 OK\nX-A: \xe9\n\n\nrest', 'HTTP/1.1 200 OK\r\nX-A: \xe9\r\n\r\n\nrest', true],
    ['folds', 'HTTP/1.1 200 OK\r\nX-A: 1 \r\n\t2\r\n 3\r\n\r\n', 'HTTP/1.1 200 OK\r\nX-A: 1 2 3\r\n\r\n', true],
    [
      'has a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      true,
    ],
    [
      'has two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
      true,
    ],
    ['is no HTTP', 'SSH-2.0-OpenSSH\r\n\0\0', 'SSH-2.0-OpenSSH\r\n\0\0', false],
    ['switches protocols', 'HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nxyz', 'HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nxyz', false],
  ])(
    'that %s is passed on the same, whole, in two pieces cut anywhere, and byte by byte',
    (_name, sent, expected, irregular) => {
      const whole = bytes(sent);
      const cuts = Array.from(whole, (_byte, at) =>
        [whole.subarray(0, at), whole.subarray(at)].filter(({ length }) => length > 0),
      );
      const single = Array.from(whole, (byte) => Buffer.from([byte]));
      for (const pieces of [[whole], ...cuts, single]) {
        const { text, head } = read(pieces);
        expect(text, `cut after ${pieces[0]?.length}`).toBe(expected);
        expect(head).toMatchObject({ isStarted: true, isComplete: true, isIrregular: irregular });
      }
    },
  );

  it('that is as usual is passed on without a copy', () => {
    const sent = bytes(OK);
    expect(new AnswerHead(1_000).add(sent)).toBe(sent);
  });

  it('that has no end is passed on at the limit, every byte of it', () => {
    const sent = bytes(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20)}`);
    const { text, head } = read(
      Array.from(sent, (byte) => Buffer.from([byte])),
      100,
    );
    expect(text).toBe(sent.toString('latin1'));
    expect(head.isComplete).toBe(true);
  });
});
