// What HTTP itself refuses is answered like everything else: JSON with a short text. And the document lists what routes answer.
// Found by the fuzz (issue 11, must-show 4).

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connection, type Answer } from '../../fuzz/connection.js';
import type { OpenApiDocument } from '../../fuzz/document.js';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

async function answerTo(...lines: string[]): Promise<Answer> {
  const connection = new Connection(Number(new URL(node.url).port), 5_000);
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  const { answers } = await connection.exchange({ bytes, isHead: false, isBroken: false });
  connection.close();
  return answers[0]!;
}

const token = (): string => `Authorization: Bearer ${node.token}`;

describe('a request that HTTP refuses is answered with a text', () => {
  it.each([
    ['with an expectation that nobody meets', 417, '/v2/keys', ['Host: x', 'Expect: nonsense'], /100-continue/],
    ['without Host', 400, '/v2/keys', [], /0 Host headers, expected one/],
    ['with two Hosts', 400, '/v2/keys', ['Host: x', 'host: y'], /2 Host headers, expected one/],
    ['for a path that cannot be decoded', 400, `/v2/runs/%zz${'a'.repeat(9_000)}`, ['Host: x'], /percent-decoded/],
    ['for a segment that is too long', 414, `/v2/runs/${'a'.repeat(9_000)}`, ['Host: x'], /segment.*too long/],
  ])('%s', async (_which, status, target, headers, text) => {
    const answer = await answerTo(`GET ${target} HTTP/1.1`, ...headers, token());
    const body = JSON.parse(answer.body.toString()) as { error: string };
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json; charset=utf-8']);
    expect(body).toEqual({ error: expect.stringMatching(text) as string });
    expect(body.error.length).toBeLessThan(200);
  });

  it('when it takes the node for a proxy', async () => {
    const answer = await answerTo('CONNECT 127.0.0.1:80 HTTP/1.1', 'Host: x');
    expect(answer.status).toBe(405);
    expect(JSON.parse(answer.body.toString())).toEqual({ error: 'this is no proxy: CONNECT is not taken' });
  });

  it('save for HTTP/1.0, which has no Host', async () => {
    expect((await answerTo('GET /v2/keys HTTP/1.0', token())).status).toBe(200);
  });
});

describe('the document', () => {
  it('lists for every operation with a token what may refuse it', async () => {
    const { paths } = (await (await fetch(`${node.url}/openapi.json`)).json()) as OpenApiDocument;
    const secured = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ security = [] }) => security.length > 0);
    expect(secured.length).toBeGreaterThan(40);
    for (const { responses } of secured) {
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '404', '503']));
    }
    expect(paths['/v2/messages/{messageId}']?.get?.security).toEqual([{ token: [] }]);
  });
});

describe('Carillon-Keep', () => {
  it.each(['constructor', '__proto__', 'toString', 'body,valueOf'])('%s names no part', async (keep) => {
    const headers = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': 'keep' };
    const path = `/v2/schedules/${node.sink.url}/keep`;
    expect((await node.call('POST', path, { headers })).status).toBe(200);
    const answer = await node.call('POST', path, { headers: { ...headers, 'Carillon-Keep': keep } });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('expected some of body') as string,
    ]);
  });
});
