/** `carillon publish` and `carillon cancel`: a message goes in, and out again while it waits. */
import { Option, type Command } from 'commander';
import { fromWireMessageId, messageIdTimeMs } from '../src/domain/ids.js';
import { CliError } from './io.js';
import {
  addRequestOptions,
  destinationPath,
  readBody,
  requestHeaders,
  type RequestOptions,
} from './request-options.js';
import { first, type Runner, type Session } from './session.js';
import { exactTime, readTime } from './times.js';
import { line } from './text.js';

interface PublishOptions extends RequestOptions {
  readonly at?: string;
}

interface Published {
  readonly messageId: string;
  readonly deduplicated?: true;
}

export function addPublish(program: Command, run: Runner): void {
  const command = program.command('publish <url>').description('send a message, now or later');
  addRequestOptions(command, 'what the work is for: done once for each key')
    .addOption(new Option('--at <time>', 'not before this time, such as 2026-03-08T07:00:00Z').conflicts('delay'))
    .action(run(publish));
  program.command('cancel <messageIds...>').description('cancel messages that wait').action(run(cancel));
}

async function publish(session: Session, options: PublishOptions, operands: readonly string[]): Promise<void> {
  const path = `/v2/publish/${destinationPath(first(operands))}`;
  const notBefore = options.at === undefined ? undefined : readTime(options.at, '--at');
  const body = await readBody(options, session.io);
  const headers = requestHeaders(options, body);
  if (notBefore !== undefined) headers.push(['Upstash-Not-Before', (notBefore / 1_000).toFixed(3)]);
  const answer = (await session.api.call('POST', path, { headers, ...(body && { body }) })) as Published;
  session.show(answer, () => publishedText(answer, session));
}

function publishedText({ messageId, deduplicated }: Published, { zone }: Session): string {
  const id = fromWireMessageId(messageId);
  const due = id === null ? '' : `, due ${exactTime(messageIdTimeMs(id), zone) ?? ''}`;
  return line`${messageId}  ${deduplicated === true ? 'accepted before' : 'accepted'}${due}`;
}

async function cancel(session: Session, _options: unknown, messageIds: readonly string[]): Promise<void> {
  const [only] = messageIds;
  const cancel = async (): Promise<{ cancelled: number; more?: boolean }> =>
    (await (messageIds.length === 1
      ? session.api.call('DELETE', `/v2/messages/${encodeURIComponent(only ?? '')}`)
      : session.api.call('DELETE', '/v2/messages', { json: { messageIds } }))) as { cancelled: number; more?: boolean };
  let answer = await cancel();
  while (answer.more === true) {
    const next = await cancel();
    answer = { ...next, cancelled: answer.cancelled + next.cancelled };
  }
  session.show(answer, () => line`canceled ${answer.cancelled}`);
  const missed = messageIds.length - answer.cancelled;
  if (missed > 0) {
    throw new CliError(`${missed} of ${messageIds.length} messages were not waiting: unknown, or ended before`, 1);
  }
}
