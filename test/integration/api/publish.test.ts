// The write side of the API over real sockets: raw targets, raw bodies, limits, batches, and that bad input is never our fault.

import { Agent, request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
const agent = new Agent({ keepAlive: true });
beforeAll(async () => {
  node = await startTestNode({ CARILLON_BODY_MAX_BYTES: 64 * 1_024, CARILLON_BATCH_MAX_ITEMS: 20 });
});
afterAll(async () => {
  agent.destroy();
  await node.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request with its target and headers exactly as given; fetch would normalise them. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: Buffer | string = '',
): Promise<Answer> {
  const { hostname, port } = new URL(node.url);
  // Without it node would send the body of a GET with nothing that says how long it is.
  const framing = 'transfer-encoding' in headers ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const all = { authorization: `Bearer ${node.token}`, ...framing, ...headers };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, agent, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

const idOf = (answer: Answer): string => (JSON.parse(answer.body) as { messageId: string }).messageId;
const errorOf = (answer: Answer): string => (JSON.parse(answer.body) as { error: string }).error;

async function storedDestination(messageId: string): Promise<string | undefined> {
  const rows = await node.database.text<{ destination: string }>('select destination from messages where id = $1', [
    messageId.slice(4),
  ]);
  return rows[0]?.destination;
}

describe('publish', () => {
  it.each(['/a%2Fb/%C3%A9?x=1&y=a%20b', '//dbl//slash/', '/a/../b/./c', '/p?', '/p?url=https://b.test/q?z=1#'])(
    'keeps the destination %s as it was sent, with our query keys taken out',
    async (path) => {
      const target = `/v2/publish/${node.sink.url}${path}`;
      const answer = await raw('POST', target, { 'Upstash-Delay': '1h' });
      expect(answer.status).toBe(200);
      expect(await storedDestination(idOf(answer))).toBe(`${node.sink.url}${path}`);
    },
  );

  it('takes token and settings from the query, and delivers the rest of it', async () => {
    const path = `/v2/publish/${node.sink.url}/hook?a=1&qstash_token=${node.token}&upstash-method=PUT&upstash-forward-x-from=query&b=%20`;
    const answer = await raw(
      'POST',
      path,
      { authorization: 'Basic Zm9yOnRoZW0=', 'Upstash-Header-Forward': 'true' },
      'x',
    );
    expect(answer.status).toBe(200);
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === idOf(answer));
    expect(call).toMatchObject({ method: 'PUT', path: '/hook?a=1&b=%20' });
    expect(call?.headers).toMatchObject({ 'x-from': 'query', authorization: 'Basic Zm9yOnRoZW0=' });
  });

  it('never forwards the token of the caller', async () => {
    const answer = await raw('POST', `/v2/publish/${node.sink.url}/fwd`, {
      'Upstash-Header-Forward': 'true',
      'x-event': 'e',
    });
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === idOf(answer));
    expect(call?.headers['x-event']).toBe('e');
    expect(call?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['binary', Buffer.from([0, 0xff, 0xfe, 0, 0x80, 0xed, 0xa0, 0x80])],
    ['what looks like broken JSON', Buffer.from('{"a":')],
    ['nothing', Buffer.alloc(0)],
  ])('delivers %s byte for byte, whatever its type', async (_what, body) => {
    for (const type of ['application/json', 'no media type at all', 'multipart/form-data; boundary=x']) {
      const answer = await raw('POST', `/v2/publish/${node.sink.url}/bytes`, { 'content-type': type }, body);
      expect(answer.status).toBe(200);
      const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === idOf(answer));
      expect(call?.body.equals(body)).toBe(true);
      expect(call?.headers['content-type']).toBe(type);
    }
  });

  it('answers a duplicate with 202 and the first message, of a hundred at once too', async () => {
    const headers = { 'Upstash-Deduplication-Id': 'once', 'Upstash-Delay': '1h' };
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => raw('POST', `/v2/publish/${node.sink.url}/once`, headers, 'x')),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 202)).toHaveLength(99);
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(JSON.parse(answers.find((answer) => answer.status === 202)?.body ?? '')).toMatchObject({
      deduplicated: true,
    });
  });

  it.each([
    [
      '/v2/publish/a.test/p',
      400,
      /^invalid destination url: endpoint has invalid scheme, add http:\/\/ or https:\/\/$/,
    ],
    ['/v2/publish/ftp://a.test/p', 400, /invalid scheme/],
    ['/v2/publish/', 400, /empty/],
    ['/v2/publish', 400, /empty/],
    ['/v2/publish/http://', 400, /invalid destination url/],
    ['/v2/publish/http://u:p@a.test', 400, /credentials/],
    ['/v2/publish/my-group', 501, /URL groups are not implemented yet.*my-group/],
    ['/v2/publish/api/llm', 501, /api\/llm/],
    ['/v2/enqueue/q/https://a.test', 501, /queues are not implemented yet/],
    ['/v2/schedules/https://a.test', 400, /Upstash-Cron is missing/],
    ['/v2/queues', 501, /queues/],
    ['/v2/topics/x/endpoints', 501, /URL groups/],
    ['/v2/flowControl/k/pin', 501, /flow control/],
    ['/v2/nothing', 404, /there is no POST \/v2\/nothing/],
    ['/v2/nothing/%zz', 400, /%zz/],
  ])('POST %s gives %i and says why', async (path, status, text) => {
    const answer = await raw('POST', path);
    expect(errorOf(answer)).toMatch(text);
    expect(answer.status).toBe(status);
  });

  it.each([
    ['GET', '/v2/publish/https://a.test/p', 'POST'],
    ['DELETE', '/v2/schedules/https://a.test/p', 'POST'],
    ['PUT', '/v2/schedules/some-id', 'DELETE, GET, HEAD, POST'],
    ['DELETE', '/v2/schedules/some-id/pause', 'PATCH, POST'],
    ['GET', '/v2/batch', 'POST'],
    ['PUT', '/v2/dlq', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/healthz', 'GET, HEAD'],
  ])('%s %s is answered with 405 and what the path does take', async (method, path, allow) => {
    const answer = await raw(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    expect(errorOf(answer)).toContain(`does not take ${method}, only ${allow}`);
  });

  it('refuses a body beyond the limit with 413, declared or not', async () => {
    const body = Buffer.alloc(64 * 1_024 + 1);
    const declared = await raw(
      'POST',
      `/v2/publish/${node.sink.url}/big`,
      { 'content-length': String(body.length) },
      body,
    );
    expect([declared.status, errorOf(declared)]).toEqual([
      413,
      'the body has 65537 bytes, at most 65536 bytes are allowed',
    ]);
    const chunked = await raw('POST', `/v2/publish/${node.sink.url}/big`, { 'transfer-encoding': 'chunked' }, body);
    expect([chunked.status, errorOf(chunked)]).toEqual([413, 'the body is too large, at most 65536 bytes are allowed']);
  });

  it('refuses headers and URLs beyond the limit with a text', async () => {
    const headers = await raw('POST', `/v2/publish/${node.sink.url}/h`, { 'Upstash-Forward-A': 'x'.repeat(17_000) });
    expect([headers.status, errorOf(headers)]).toEqual([400, expect.stringMatching(/CARILLON_HEADERS_MAX_BYTES/)]);
    const url = await raw('POST', `/v2/publish/${node.sink.url}/${'x'.repeat(4_100)}`);
    expect([url.status, errorOf(url)]).toEqual([400, expect.stringMatching(/at most 4096/)]);
    const both = await raw('POST', `/v2/publish/${node.sink.url}/h`, { 'Upstash-Forward-A': 'x'.repeat(60_000) });
    expect(both.status).toBe(431);
  });

  it('refuses private destinations at once where they are not allowed', async () => {
    const strict = await startTestNode({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: false });
    try {
      const answer = await strict.call('POST', '/v2/publish/http://127.0.0.1:1/p');
      expect(answer.status).toBe(400);
      expect(await answer.json()).toEqual({ error: expect.stringMatching(/loopback address: 127.0.0.1/) as string });
    } finally {
      await strict.stop();
    }
  });
});

describe('batch', () => {
  it('accepts what is right, says what is wrong, in order', async () => {
    const items = [
      {
        destination: `${node.sink.url}/b0`,
        body: 'zero',
        headers: { 'upstash-forward-x': '1', 'content-type': 'text/x' },
      },
      { destination: 'nowhere at all' },
      { destination: `${node.sink.url}/b2`, queue: 'q' },
      { destination: `${node.sink.url}/b3`, queue: null, body: null },
      { destination: `${node.sink.url}/b4`, headers: { 'upstash-forward-x': 'a\r\nb' } },
      { destination: `${node.sink.url}/b5`, body: '\ud800' },
      { destination: `${node.sink.url}/b6`, headers: { 'upstash-cron': '* * * * *' } },
      null,
      { body: 'x' },
      { destination: 'group' },
    ];
    const answer = await raw('POST', '/v2/batch', { 'content-type': 'application/json' }, JSON.stringify(items));
    expect(answer.status).toBe(200);
    const results = JSON.parse(answer.body) as { messageId?: string; error?: string; status?: number }[];
    expect(results.map((result) => result.status ?? 'accepted')).toEqual([
      'accepted',
      400,
      501,
      'accepted',
      400,
      400,
      400,
      400,
      400,
      501,
    ]);
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === results[0]?.messageId);
    expect(call?.body.toString()).toBe('zero');
    expect(call?.headers).toMatchObject({ x: '1', 'content-type': 'text/x' });
    await node.sink.waitFor(1, (candidate) => candidate.messageId === results[3]?.messageId);
  });

  it('finds duplicates within itself', async () => {
    const item = { destination: `${node.sink.url}/twice`, headers: { 'upstash-deduplication-id': 'in-batch' } };
    const answer = await raw('POST', '/v2/batch', {}, JSON.stringify([item, item]));
    const [first, second] = JSON.parse(answer.body) as { messageId: string; deduplicated?: boolean }[];
    expect(second?.messageId).toBe(first?.messageId);
    expect([first?.deduplicated, second?.deduplicated]).toEqual([undefined, true]);
  });

  it.each([
    ['', /no JSON array/],
    ['{}', /no JSON array/],
    ['[', /not JSON/],
    [Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), /not UTF-8/],
    [JSON.stringify(Array.from({ length: 21 }, () => ({}))), /at most 20/],
  ])('refuses %j whole', async (body, text) => {
    const answer = await raw('POST', '/v2/batch', {}, body);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(text);
  });
});

describe('JSON that is not what was expected', () => {
  const destination = 'https://a.test/p';
  it.each([
    [{ destination, headres: {} }, 'the item has a member "headres" that means nothing here; did you mean headers?'],
    [{ headers: {} }, 'the item: destination is missing, expected a string'],
    [{ destination: 5 }, 'the item: destination is 5, expected a string'],
    [{ destination, body: { a: 1 } }, 'the item: body is {"a":1}, expected a string or null'],
    [[], 'the item is [], expected an object'],
  ])('is refused as a batch item, with what was wrong and where: %j', async (item, error) => {
    const answer = await raw('POST', '/v2/batch', {}, JSON.stringify([item]));
    expect(JSON.parse(answer.body)).toEqual([{ status: 400, error }]);
  });

  it.each([
    [{ cron: '* * * * *', timezone: 'UTC' }, /the body has a member "timezone" .* did you mean timeZone\?/],
    [{ cron: 1 }, /the body: cron is 1, expected a string/],
    [{ cron: '* * * * *', count: 1.5 }, /the body: count is 1.5, expected a whole number/],
    [{ cron: '* * * * *', from: [] }, /the body: from is \[\], expected a string or a number/],
    [{}, /the body: cron is missing, expected a string/],
  ])('is refused by the calendar preview: %j', async (body, text) => {
    const answer = await raw('POST', '/v2/cron/preview', {}, JSON.stringify(body));
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(text);
  });
});

describe('whatever is sent', () => {
  const header = fc.constantFrom(
    ...['Method', 'Delay', 'Not-Before', 'Retries', 'Retry-Delay', 'Timeout', 'Callback', 'Failure-Callback', 'Label'],
    ...['Deduplication-Id', 'Content-Based-Deduplication', 'Redact-Fields', 'Cron', 'Schedule-Id', 'Forward-X'],
  );
  // Headers can hold bytes but no control characters; node refuses to send others.
  const byte = fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code));
  const value = fc.string({ unit: byte, maxLength: 40 });
  const path = fc.oneof(
    fc.webPath(),
    fc.string({ unit: byte, maxLength: 60 }).map((text) => text.replaceAll(' ', '%')),
  );
  const prefix = fc.constantFrom(
    ...[
      '/',
      '/v2/publish/',
      '/v2/publish/http://a.test/',
      '/v2/schedules/',
      '/v2/schedules/http://a.test/',
      '/v2/batch',
    ],
    ...['/v2/cron/preview', '/v2/messages/', '/v2/dlq/', '/v2/events?', '/v2/keys', '/admin/tenants/', '/v2/runs?'],
    ...['/v2/schedules/x/next?', '/v2/publish/https%3A%2F%2F', '/v2/logs?', '/v2/messages?'],
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
  );

  it('is answered, and never with a fault of ours', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT'),
        prefix,
        path,
        fc.dictionary(header, value, { maxKeys: 4 }),
        body,
        async (method, start, rest, settings, bytes) => {
          const headers = Object.fromEntries(
            Object.entries(settings).map(([name, text]) => [`Upstash-${name}`, text.trim()]),
          );
          const answer = await raw(method, start + rest, headers, Buffer.from(bytes));
          if (answer.status !== 501) expect(answer.status).toBeLessThan(500);
          if (answer.status >= 400) expect(errorOf(answer)).not.toBe('');
        },
      ),
      { numRuns: 300 },
    );
  });

  it('as a batch too', async () => {
    const item = fc.record(
      {
        destination: fc.oneof(fc.constant('http://a.test/x'), fc.string({ unit: 'binary' }), fc.webUrl()),
        headers: fc.oneof(
          fc.dictionary(
            fc.oneof(
              header.map((name) => `Upstash-${name}`),
              fc.string({ unit: 'binary' }),
            ),
            fc.string({ unit: 'binary' }),
            { maxKeys: 3 },
          ),
          fc.jsonValue(),
        ),
        body: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
        queue: fc.option(fc.string()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(item, fc.jsonValue()), { maxLength: 10 }), async (items) => {
        const answer = await raw('POST', '/v2/batch', {}, JSON.stringify(items));
        expect(answer.status).toBe(200);
        for (const result of JSON.parse(answer.body) as { status?: number }[]) {
          expect([undefined, 400, 413, 501]).toContain(result.status);
        }
      }),
      { numRuns: 150 },
    );
  });
});
