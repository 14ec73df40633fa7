// Accepting work: messages and the keys that name what they are for, committed in groups.

import { CarillonError } from '../../domain/errors.js';
import { fromUuid, type MessageId } from '../../domain/ids.js';
import { codeOf, type Database, type Params, type Queryable } from '../database.js';
import { messageColumns, pending } from './message-columns.js';
import type { Message } from '../../domain/message.js';

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
 * Throws NOT_FOUND, having written nothing, when a submission's tenant does not exist.
 */
export async function acceptGroup(
  database: Database,
  settings: AcceptSettings,
  nowMs: number,
  submissions: readonly Submission[],
): Promise<Acceptance[]> {
  try {
    return await writeGroup(database, settings, nowMs, submissions);
  } catch (error) {
    if (!isMissingTenant(error)) throw error;
    const tenants = [...new Set(submissions.map(({ message }) => message.tenantId))].join(' and ');
    throw new CarillonError('NOT_FOUND', `nothing was accepted: there is no tenant ${tenants}`, { cause: error });
  }
}

const NOT_NULL_VIOLATION = '23502';

/** What insert-new-messages.sql comes to when there is no such tenant. */
function isMissingTenant(error: unknown): boolean {
  return codeOf(error) === NOT_NULL_VIOLATION && (error as { column?: unknown }).column === 'tenant_id';
}

async function writeGroup(
  database: Database,
  settings: AcceptSettings,
  nowMs: number,
  submissions: readonly Submission[],
): Promise<Acceptance[]> {
  if (submissions.every((submission) => submission.keys.length === 0)) {
    await insertNew(database, submissions);
    return submissions.map(accepted);
  }
  const { first, repeats } = separateRepeats(submissions);
  const acceptances = await database.transaction((connection) => acceptKeyed(connection, settings, nowMs, first));
  const byFirst = new Map(first.map((submission, index) => [submission, acceptances[index]]));
  const freed: Submission[] = [];
  const answers = new Map<Submission, Acceptance>();
  for (const submission of submissions) {
    const repeat = repeats.get(submission);
    const { messageId, deduplicated, lostKeys } = byFirst.get(repeat?.of ?? submission) ?? accepted(submission);
    // The one before it lost another key, and gave back the one that they share.
    if (repeat !== undefined && lostKeys.length > 0 && !lostKeys.includes(repeat.key)) freed.push(submission);
    else answers.set(submission, { messageId, deduplicated: deduplicated || repeat !== undefined });
  }
  if (freed.length > 0) {
    const second = await writeGroup(database, settings, nowMs, freed);
    freed.forEach((submission, index) => answers.set(submission, second[index] ?? accepted(submission)));
  }
  return submissions.map((submission) => answers.get(submission) ?? accepted(submission));
}

const UNIQUE_VIOLATION = '23505';

/** Ids are of chance, so that looking for each in PostgreSQL is left to the case that one is there. */
async function insertNew(database: Database, submissions: readonly Submission[]): Promise<void> {
  const columns = columnsOf(submissions);
  try {
    await database.run('insert-new-messages', columns);
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    await database.run('insert-messages', columns);
  }
}

function columnsOf(submissions: readonly Submission[]): Params<'insert-messages'> {
  return messageColumns(submissions.map(({ message }) => pending(message)));
}

/** What became of a submission, and which of its keys somebody else holds. */
interface KeyedAcceptance extends Acceptance {
  readonly lostKeys: readonly string[];
}

function accepted(submission: Submission): KeyedAcceptance {
  return { messageId: submission.message.id, deduplicated: false, lostKeys: [] };
}

interface Repeat {
  readonly of: Submission;
  /** The name of the key that they share. */
  readonly key: string;
}

/** Within one group the first submission with a key stands for the later ones with the same key. */
function separateRepeats(submissions: readonly Submission[]): {
  first: Submission[];
  repeats: Map<Submission, Repeat>;
} {
  const holders = new Map<string, Submission>();
  const repeats = new Map<Submission, Repeat>();
  const first: Submission[] = [];
  for (const submission of submissions) {
    const names = submission.keys.map((key) => keyName(submission.message.tenantId, key));
    const key = names.find((name) => holders.has(name));
    const holder = key === undefined ? undefined : holders.get(key);
    if (key !== undefined && holder !== undefined) {
      repeats.set(submission, { of: holder, key });
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
): Promise<KeyedAcceptance[]> {
  const duplicates = await claimKeys(
    connection,
    submissions,
    (key) => (key.scope === 'key' ? null : nowMs + settings.deduplicationMs),
    nowMs,
  );
  const fresh = submissions.filter((submission) => !duplicates.has(submission.message.id));
  if (fresh.length > 0) await connection.run('insert-messages', columnsOf(fresh));
  return submissions.map((submission) => {
    const duplicate = duplicates.get(submission.message.id);
    if (duplicate === undefined) return accepted(submission);
    return { messageId: duplicate.holder, deduplicated: true, lostKeys: duplicate.lostKeys };
  });
}

/** Whose keys were taken by somebody else before. */
export interface Duplicate {
  readonly holder: MessageId;
  /** Names of the keys that others hold. */
  readonly lostKeys: string[];
}

interface WantedKey {
  readonly message: Message;
  readonly key: KeyClaim;
}

/**
 * Takes the keys of messages that have any, all or none for each message. Gives the messages that are duplicates, with the
 * key's holder. Keys within one call are distinct.
 */
export async function claimKeys(
  connection: Queryable,
  submissions: readonly Submission[],
  expiresAtMs: (key: KeyClaim) => number | null,
  nowMs: number,
): Promise<Map<MessageId, Duplicate>> {
  const wanted = submissions.flatMap(({ message, keys }) => keys.map((key) => ({ message, key })));
  const taken = new Set<string>();
  const holders = new Map<string, MessageId>();
  let open: readonly WantedKey[] = wanted;
  while (open.length > 0) {
    for (const name of await takeFree(connection, open, expiresAtMs, nowMs)) taken.add(name);
    const lost = open.filter((want) => !taken.has(nameOf(want)));
    for (const [name, holder] of await holdersOf(connection, lost)) holders.set(name, holder);
    // One that expired between the two statements has no holder any more: it is there to be taken.
    open = lost.filter((want) => !holders.has(nameOf(want)));
  }
  const duplicates = new Map<MessageId, Duplicate>();
  for (const want of wanted) {
    const name = nameOf(want);
    const holder = holders.get(name);
    if (holder === undefined) continue;
    const known = duplicates.get(want.message.id);
    if (known === undefined) duplicates.set(want.message.id, { holder, lostKeys: [name] });
    else known.lostKeys.push(name);
  }
  const givenBack = wanted.filter((want) => duplicates.has(want.message.id) && taken.has(nameOf(want)));
  if (givenBack.length > 0) {
    await connection.run('release-keys', keyColumns(givenBack));
  }
  return duplicates;
}

/** Takes those that are free or expired; gives their names. */
async function takeFree(
  connection: Queryable,
  wanted: readonly WantedKey[],
  expiresAtMs: (key: KeyClaim) => number | null,
  nowMs: number,
): Promise<string[]> {
  const rows = await connection.run('claim-keys', {
    ...keyColumns(wanted),
    expiresAtMs: wanted.map(({ key }) => expiresAtMs(key)),
    nowMs,
  });
  return rows.map((row) => keyName(row.tenant_id, row));
}

async function holdersOf(connection: Queryable, wanted: readonly WantedKey[]): Promise<[string, MessageId][]> {
  if (wanted.length === 0) return [];
  const rows = await connection.run('select-keys', keyColumns(wanted));
  return rows.map((row) => [keyName(row.tenant_id, row), fromUuid(row.message_id)]);
}

function nameOf({ message, key }: WantedKey): string {
  return keyName(message.tenantId, key);
}

function keyName(tenantId: number, key: { scope: string; key: string }): string {
  return `${tenantId}\n${key.scope}\n${key.key}`;
}

function keyColumns(wanted: readonly WantedKey[]): Params<'release-keys'> {
  return {
    tenantIds: wanted.map(({ message }) => message.tenantId),
    scopes: wanted.map(({ key }) => key.scope),
    keys: wanted.map(({ key }) => key.key),
    messageIds: wanted.map(({ message }) => message.id),
  };
}
