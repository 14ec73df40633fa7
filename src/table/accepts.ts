// Accepting work: messages and the keys that name what they are for, committed in groups.

import { fromUuid, type MessageId } from '../domain/ids.js';
import type { Database, Queryable } from './database.js';
import { messageColumns, pending, timestamp } from './message-columns.js';
import type { Message } from '../domain/message.js';

/** A name under which work is accepted once. */
export interface KeyClaim {
  readonly scope: 'key' | 'deduplication' | 'content';
  readonly key: string;
}

export interface Submission {
  readonly message: Message;
  readonly keys: readonly KeyClaim[];
}

export interface Acceptance {
  /** The message's id, or that of the earlier one with the same key. */
  readonly messageId: MessageId;
  readonly deduplicated: boolean;
}

export interface AcceptSettings {
  /** How long a deduplication id (or content hash) is remembered, in milliseconds. */
  readonly deduplicationMs: number;
}

/**
 * Writes one group. Submissions without keys are one insert. Those with keys take their keys first, by constraint and never by
 * check-then-insert; whoever loses any of its keys is a duplicate of that key's holder and gives back what it had taken.
 */
export async function acceptGroup(
  database: Database,
  settings: AcceptSettings,
  nowMs: number,
  submissions: readonly Submission[],
): Promise<Acceptance[]> {
  if (submissions.every((submission) => submission.keys.length === 0)) {
    await database.run('insert-messages', messageColumns(submissions.map((submission) => pending(submission.message))));
    return submissions.map(accepted);
  }
  const { first, repeats } = separateRepeats(submissions);
  const acceptances = await database.transaction((connection) => acceptKeyed(connection, settings, nowMs, first));
  const byIndex = new Map(first.map((submission, index) => [submission, acceptances[index]]));
  return submissions.map((submission) => {
    const original = repeats.get(submission);
    const acceptance = byIndex.get(original ?? submission) ?? accepted(submission);
    return original === undefined ? acceptance : { messageId: acceptance.messageId, deduplicated: true };
  });
}

function accepted(submission: Submission): Acceptance {
  return { messageId: submission.message.id, deduplicated: false };
}

/** Within one group the first submission with a key stands for the later ones with the same key. */
function separateRepeats(submissions: readonly Submission[]): {
  first: Submission[];
  repeats: Map<Submission, Submission>;
} {
  const holders = new Map<string, Submission>();
  const repeats = new Map<Submission, Submission>();
  const first: Submission[] = [];
  for (const submission of submissions) {
    const names = submission.keys.map((key) => keyName(submission.message.tenantId, key));
    const holder = names.map((name) => holders.get(name)).find((held) => held !== undefined);
    if (holder !== undefined) {
      repeats.set(submission, holder);
      continue;
    }
    names.forEach((name) => holders.set(name, submission));
    first.push(submission);
  }
  return { first, repeats };
}

async function acceptKeyed(
  connection: Queryable,
  settings: AcceptSettings,
  nowMs: number,
  submissions: readonly Submission[],
): Promise<Acceptance[]> {
  const duplicates = await claimKeys(
    connection,
    submissions,
    (key) => (key.scope === 'key' ? null : nowMs + settings.deduplicationMs),
    nowMs,
  );
  const fresh = submissions.filter((submission) => !duplicates.has(submission.message.id));
  if (fresh.length > 0) {
    await connection.run('insert-messages', messageColumns(fresh.map((submission) => pending(submission.message))));
  }
  return submissions.map((submission) => {
    const holder = duplicates.get(submission.message.id);
    return holder === undefined ? accepted(submission) : { messageId: holder, deduplicated: true };
  });
}

/**
 * Takes the keys of messages that have any, all or none for each message. Gives the messages that are duplicates, with the id of
 * the key's holder. Keys within one call are distinct.
 */
export async function claimKeys(
  connection: Queryable,
  submissions: readonly Submission[],
  expiresAtMs: (key: KeyClaim) => number | null,
  nowMs: number,
): Promise<Map<MessageId, MessageId>> {
  const wanted = submissions.flatMap(({ message, keys }) => keys.map((key) => ({ message, key })));
  if (wanted.length === 0) return new Map();
  const columns = keyColumns(wanted);
  const taken = await connection.run<KeyRow>('claim-keys', [
    ...columns,
    wanted.map(({ message }) => message.id),
    wanted.map(({ key }) => timestamp(expiresAtMs(key))),
    timestamp(nowMs),
  ]);
  const takenNames = new Set(taken.map((row) => keyName(row.tenant_id, row)));
  const lost = wanted.filter(({ message, key }) => !takenNames.has(keyName(message.tenantId, key)));
  if (lost.length === 0) return new Map();
  const held = await connection.run<KeyRow & { message_id: string }>('select-keys', keyColumns(lost));
  const holders = new Map(held.map((row) => [keyName(row.tenant_id, row), fromUuid(row.message_id)]));
  const duplicates = new Map<MessageId, MessageId>();
  for (const { message, key } of lost) {
    duplicates.set(message.id, holders.get(keyName(message.tenantId, key)) ?? message.id);
  }
  const givenBack = wanted.filter(
    ({ message, key }) => duplicates.has(message.id) && takenNames.has(keyName(message.tenantId, key)),
  );
  if (givenBack.length > 0) {
    await connection.run('release-keys', [...keyColumns(givenBack), givenBack.map(({ message }) => message.id)]);
  }
  return duplicates;
}

interface KeyRow {
  tenant_id: number;
  scope: string;
  key: string;
}

function keyName(tenantId: number, key: { scope: string; key: string }): string {
  return `${tenantId}\n${key.scope}\n${key.key}`;
}

function keyColumns(wanted: readonly { message: Message; key: KeyClaim }[]): [number[], string[], string[]] {
  return [
    wanted.map(({ message }) => message.tenantId),
    wanted.map(({ key }) => key.scope),
    wanted.map(({ key }) => key.key),
  ];
}
