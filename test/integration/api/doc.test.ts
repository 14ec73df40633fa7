// docs/api.md says what is true: its examples run, in their order, against a node, and give the answers that stand below them.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;

beforeAll(async () => {
  node = await startTestNode();
  node.sink.answer((call) => (call.path.startsWith('/fail') ? { status: 500 } : {}));
});
afterAll(() => node.stop());

interface Example {
  readonly line: number;
  readonly command: string;
  readonly answer: unknown;
}

/** Each block of commands with the answer to its last one. */
function examplesOf(markdown: string): Example[] {
  const blocks = markdown.matchAll(/```sh\n([\s\S]*?)```\n\n```json\n([\s\S]*?)```/g);
  return Array.from(blocks, ([whole, command = '', answer = '']) => ({
    line: markdown.slice(0, markdown.indexOf(whole)).split('\n').length,
    command,
    answer: JSON.parse(answer) as unknown,
  }));
}

/** As it stands in the document: `…` is any text, and fields that are not shown may be there. */
function expected(shown: unknown): unknown {
  if (typeof shown === 'string') {
    if (!shown.includes('…')) return shown;
    const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return expect.stringMatching(new RegExp(`^${parts.join('.*')}$`));
  }
  if (Array.isArray(shown)) return shown.map(expected);
  if (typeof shown !== 'object' || shown === null) return shown;
  const members = Object.entries(shown).map(([name, value]) => [name, expected(value)] as const);
  return expect.objectContaining(Object.fromEntries(members));
}

async function run(command: string): Promise<string[]> {
  const { url: URL, token: TOKEN, adminToken: ADMIN_TOKEN } = node;
  const env = { ...process.env, URL, TOKEN, ADMIN_TOKEN, RECEIVER: node.sink.url };
  // Every answer is JSON on one line, and curl ends none of them.
  const script = `set -e\n${command.replace(/^curl/gm, 'curl -w "\\n" --noproxy "*"')}`;
  const child = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) out += String(chunk);
  return out.trim().split('\n');
}

describe.skipIf(spawnSync('curl', ['--version']).error !== undefined)('docs/api.md', () => {
  const markdown = readFileSync('docs/api.md', 'utf8');
  const examples = examplesOf(markdown);

  it('has an answer below each example', () => {
    expect(examples).toHaveLength(markdown.match(/^```sh$/gm)?.length ?? 0);
    expect(examples.length).toBeGreaterThan(8);
  });

  // What must be recorded first may take longer than the document waits, where the machine is busy.
  it.each(examples)('the example at line $line', { retry: 5 }, async ({ command, answer }) => {
    const answers = await run(command);
    for (const earlier of answers.slice(0, -1)) expect(JSON.parse(earlier)).not.toHaveProperty('error');
    expect(JSON.parse(answers.at(-1) ?? '')).toEqual(expected(answer));
  });
});

describe('the table of clock changes in docs/api.md', () => {
  /** The wall times from 01:00 to 04:00 in New York on a day that is given by its beginning, in UTC. */
  async function morning(cron: string, midnight: string): Promise<string[]> {
    const from = Date.parse(midnight) - 1;
    const body = JSON.stringify({ cron, timeZone: 'America/New_York', from, count: 12 });
    const response = await node.call('POST', '/v2/cron/preview', { body });
    const { times } = (await response.json()) as { times: { local: string }[] };
    const isMorning = (local: string): boolean => /^\d{4}-(?:03-08|11-01)T0[1-3]/.test(local);
    return times.flatMap(({ local }) => (isMorning(local) ? [local.slice(11, 16) + local.slice(19, 22)] : []));
  }

  it.each([
    ['30 2 * * *', '03:00-04', '02:30-05'],
    ['30 1 * * *', '01:30-05', '01:30-04'],
    ['0,30 2 * * *', '03:00-04', '02:00-05 02:30-05'],
    ['0 2,3 * * *', '03:00-04', '02:00-05 03:00-05'],
    ['15 1-3 * * *', '01:15-05 03:00-04 03:15-04', '01:15-04 02:15-05 03:15-05'],
    [
      '*/30 * * * *',
      '01:00-05 01:30-05 03:00-04 03:30-04',
      '01:00-04 01:30-04 01:00-05 01:30-05 02:00-05 02:30-05 03:00-05 03:30-05',
    ],
    ['30 */2 * * *', '', '02:30-05'],
    ['30 */1 * * *', '01:30-05 03:30-04', '01:30-04 01:30-05 02:30-05 03:30-05'],
  ])('%s', async (cron, spring, autumn) => {
    expect((await morning(cron, '2026-03-08T05:00:00Z')).join(' ')).toBe(spring);
    expect((await morning(cron, '2026-11-01T04:00:00Z')).join(' ')).toBe(autumn);
  });
});
