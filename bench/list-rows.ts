/** What lists are filtered by, put into a filled table: labels, keys, paused schedules, other hosts, dead letters. `tidy` takes it out again. */
import { toWireMessageId } from '../src/domain/ids.js';
import { adminBearer, call, type CarillonNode } from './carillon-node.js';
import { cloneDeadLetters, cloneRuns, FILLED_FAMILY, scheduleId, TEMPLATES } from './clone-rows.js';
import { expectMessages, sleep, type Harness } from './harness.js';
import { NOWHERE, type FilledDatabase } from './filled.js';
import { bodyOf } from './signed-post.js';

export interface Marked {
  readonly label: string;
  readonly keys: readonly string[];
  /** A URL with the host of the marked messages; the schedules have its name with other ports. */
  readonly host: string;
  readonly messageIds: readonly string[];
  readonly letterUrls: readonly string[];
  /** A schedule that has run as often as there are dead letters. */
  readonly busy: string;
}

/** Later ids than those of the filled table's schedules. */
const FAMILY = 'listed';
const LABEL = 'listed';
const DESTINATIONS = 20;
/** Schedules that have fired: a page of them and more. */
const FIRED = 500;
const POLL_MS = 20;
/** What was due before is not taken out by `tidy`. */
const DUE_WITHIN_MS = 20 * 3_600_000;

/** What the console proves itself with: an administrator who acts for the one tenant. */
export function consoleHeaders(): Record<string, string> {
  return { ...adminBearer(), 'Carillon-Tenant': 'default' };
}

export async function markRows(
  harness: Harness,
  filled: FilledDatabase,
  node: CarillonNode,
  { marked, deadLetters }: { readonly marked: number; readonly deadLetters: number },
): Promise<Marked> {
  const [nowMs, busy] = [Date.now() - 60_000, `${FAMILY}-busy`];
  const died = { nowMs, spanMs: DUE_WITHIN_MS, destinations: DESTINATIONS };
  await filled.inChunks(deadLetters, (chunk) => cloneDeadLetters(chunk, died));
  await node.schedule(busy, '0 0 1 1 *', NOWHERE);
  await filled.inChunks(deadLetters, (chunk) => cloneRuns(chunk, { scheduleId: busy, nowMs, spanMs: DUE_WITHIN_MS }));
  const settings = { 'Upstash-Label': LABEL, 'Content-Type': 'application/json' };
  for (let number = 0; number < marked; number++) {
    const id = `${FAMILY}-${number}`;
    await node.schedule(id, '0 0 1 1 *', NOWHERE, settings, bodyOf(number));
    if (number % 2 === 0) await call(node.url, 'POST', `/v2/schedules/${id}/pause`);
  }
  await haveFired(filled);
  // A key is known for longer than a kept table's run.
  const run = Date.now();
  const keys = Array.from({ length: marked }, (_, number) => `${FAMILY}:${run}:${number}`);
  const arrived = await expectMessages(harness, marked);
  const items = keys.map((key, number) => ({
    destination: harness.url,
    body: bodyOf(number),
    headers: { ...settings, 'Carillon-Idempotency-Key': key },
  }));
  const accepted = (await call(node.url, 'POST', '/v2/batch', {}, JSON.stringify(items))) as { messageId: string }[];
  await arrived();
  await untilDelivered(node, marked);
  const { rows } = await filled.stores.table.query<{ id: string }>(
    `select replace(id::text, '-', '') as id from messages where schedule_id like 'job-%' limit $1`,
    [marked],
  );
  return {
    label: LABEL,
    busy,
    keys,
    host: harness.url,
    messageIds: [...accepted.map(({ messageId }) => messageId), ...rows.map(({ id }) => toWireMessageId(id))],
    letterUrls: Array.from({ length: DESTINATIONS }, (_, number) => `${NOWHERE}/broken/${number}`),
  };
}

/** The first schedules are those with a history: a list shows the latest runs of what has fired. */
async function haveFired({ stores }: FilledDatabase): Promise<void> {
  await stores.table.query(
    `update schedules set last_fire_at = now() where tenant_id = (select tenant_id from ${TEMPLATES.schedule}) and id < $1`,
    [scheduleId(FILLED_FAMILY, FIRED)],
  );
}

/** What arrived is recorded a little later. */
async function untilDelivered(node: CarillonNode, messages: number): Promise<void> {
  for (;;) {
    const counts = (await call(node.url, 'GET', `/v2/runs/counts?label=${LABEL}`)) as { delivered: number };
    if (counts.delivered >= messages) return;
    await sleep(POLL_MS);
  }
}
