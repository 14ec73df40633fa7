// What must hold of schedules, whatever goes wrong: looked at with each commit, and when all work has come to its end.
//
// What a schedule owes is counted here, beside the code that fires it: from the first nominal time that a save or
// resume named, along its calendar, up to where it stood when it was changed next.

import { nextFire } from '../../src/domain/cron/next-fire.js';
import { CHANGE_REASONS } from '../../src/domain/occurrence.js';
import { expressionOf } from '../../src/domain/schedule-change.js';
import type { ScheduleRow } from '../../src/postgres/schedules/schedule-row.js';
import { REVISION } from './schedule-clients.js';
import type { PostgresServer } from './postgres-server.js';
import { type Change, type Changes, type MessageRow, scheduleKey } from './tables.js';
import { TIMES } from './times.js';
import type { World } from './world.js';

interface Owed {
  readonly scheduleId: string;
  readonly atMs: number;
  /** How often a schedule of this id was made when it owed this: one that is made anew begins anew. */
  lives: Set<number>;
}

export class ScheduleChecks {
  readonly #world: World;
  readonly #table: PostgresServer;
  readonly #owed = new Map<string, Owed>();
  /** The nominal time that a schedule stood at when it was saved or resumed last; null while it is paused. */
  readonly #firstAtMs = new Map<string, number | null>();
  readonly #lives = new Map<string, number>();
  /** By the names of `#owed`. */
  readonly #records = new Map<string, MessageRow[]>();
  changes = 0;
  fires = 0;

  constructor(world: World, table: PostgresServer) {
    this.#world = world;
    this.#table = table;
  }

  onCommit({ schedules, messages, logged }: Changes): void {
    for (const change of schedules) {
      const id = (change.after ?? change.before)?.id;
      this.#onSchedule(change, logged.find(({ schedule_id }) => schedule_id === id)?.at ?? 0);
    }
    const former = new Map(schedules.map(({ before }) => [before?.id, before]));
    const touched = new Set<string>();
    for (const { before, after } of messages) {
      if (after?.schedule_id == null || after.kind !== 'occurrence') continue;
      touched.add(after.schedule_id);
      if (before === null) this.#onRecord(after, former.get(after.schedule_id) ?? null);
    }
    for (const id of touched) this.#checkOverlap(id);
  }

  /** Those that should have fired by a time, and did not. */
  behind(untilMs: number): string[] {
    return [...this.#table.tables.schedules.values()].flatMap(({ id, state, next_fire_at }) =>
      state === 'active' && (next_fire_at ?? Infinity) < untilMs
        ? [`schedule ${id} still stands at ${next_fire_at ?? 0}`]
        : [],
    );
  }

  get areAllPaused(): boolean {
    return [...this.#table.tables.schedules.values()].every(({ state }) => state !== 'active');
  }

  /** When nothing fires any more: each nominal time that was owed has its one record, and there are no others. */
  checkRecords(): void {
    for (const row of this.#table.tables.schedules.values()) this.#close(row);
    for (const [name, { scheduleId, atMs, lives }] of this.#owed) {
      const count = this.#records.get(name)?.length ?? 0;
      const text = `the occurrence of schedule ${scheduleId} at ${atMs} has ${count} records`;
      if (count === 0 || count > lives.size) this.#world.violate(text);
    }
    for (const [name, [row]] of this.#records) {
      if (this.#owed.has(name)) continue;
      this.#world.violate(
        `schedule ${row?.schedule_id ?? ''} has a record of ${row?.occurrence_at ?? 0}, when it was not to run`,
      );
    }
  }

  #onSchedule({ before, after }: Change<ScheduleRow>, changedAtMs: number): void {
    if (before !== null && after !== null && before.generation === after.generation) {
      this.#onFire(before, after);
      return;
    }
    this.changes += 1;
    const shown =
      after === null ? 'deleted' : `${after.state}, generation ${after.generation}, next ${after.next_fire_at ?? 0}`;
    this.#world.note(`schedule ${(after ?? before)?.id ?? ''} is ${shown}`);
    if (before !== null) {
      this.#close(before);
      // What was due by then is passed over, unless it goes on from there.
      if (before.next_fire_at !== null && before.next_fire_at !== after?.next_fire_at) {
        this.#owe(before, before.next_fire_at, changedAtMs + 1);
      }
    }
    if (after === null) return;
    if (before === null) this.#lives.set(after.id, (this.#lives.get(after.id) ?? 0) + 1);
    if (before !== null && after.generation <= before.generation) {
      this.#world.violate(`schedule ${after.id} went back from generation ${before.generation} to ${after.generation}`);
    }
    this.#firstAtMs.set(after.id, after.next_fire_at);
  }

  #onFire(before: ScheduleRow, after: ScheduleRow): void {
    if (before.next_fire_at === after.next_fire_at) return;
    this.fires += 1;
    this.#world.note(`schedule ${after.id} moves on to ${after.next_fire_at ?? 0}`);
    if (before.next_fire_at === null || (after.next_fire_at ?? Infinity) <= before.next_fire_at) {
      this.#world.violate(`schedule ${after.id} went back to ${after.next_fire_at ?? 0}`);
    }
  }

  /** What it owed up to where it stands goes on the list. */
  #close(row: ScheduleRow): void {
    const endAtMs = row.state === 'ended' ? (row.end_at ?? Infinity) + 1 : -Infinity;
    this.#owe(row, this.#firstAtMs.get(row.id) ?? Infinity, row.next_fire_at ?? endAtMs);
    this.#firstAtMs.set(row.id, row.next_fire_at);
  }

  /** All times of its calendar from one of them on. */
  #owe(row: ScheduleRow, firstAtMs: number, untilMs: number): void {
    const expression = expressionOf({ cron: row.cron, timeZone: row.time_zone });
    let atMs = firstAtMs;
    while (atMs < untilMs && atMs <= (row.end_at ?? Infinity)) {
      const name = nameOf(row.id, atMs);
      const owed = this.#owed.get(name) ?? { scheduleId: row.id, atMs, lives: new Set() };
      owed.lives.add(this.#lives.get(row.id) ?? 0);
      this.#owed.set(name, owed);
      atMs = nextFire(expression, atMs, row.anchor_at)?.atMs ?? Infinity;
    }
  }

  /** `former`: its schedule before the change that was committed with it, if any. */
  #onRecord(message: MessageRow, former: ScheduleRow | null): void {
    const { schedule_id: id, occurrence_at: atMs, headers } = message;
    const name = nameOf(id ?? '', atMs ?? 0);
    this.#records.set(name, [...(this.#records.get(name) ?? []), message]);
    // What a change passes over is recorded with it, as it was before.
    const isPassedOver = message.state === 'skipped' && CHANGE_REASONS.some((reason) => reason === message.reason);
    const row = isPassedOver ? former : this.#table.tables.schedules.get(scheduleKey(message.tenant_id, id ?? ''));
    const revision = headers[REVISION]?.[0];
    const current = row?.headers[REVISION]?.[0];
    if (revision === current) return;
    const text = `schedule ${id ?? ''} recorded ${atMs ?? 0} as revision ${revision ?? ''} had it`;
    this.#world.violate(`${text}, after ${current ?? 'its end'} was committed`);
  }

  /** Under a policy only one is sent at a time, and so many wait. */
  #checkOverlap(id: string): void {
    const limited = [...this.#table.messages.values()].filter(
      ({ schedule_id, state, overlap }) => schedule_id === id && state === 'pending' && overlap !== null,
    );
    const waiting = limited.filter(({ held }) => held).length;
    if (limited.length - waiting > 1) {
      this.#world.violate(
        `schedule ${id} has ${limited.length - waiting} occurrences under way, and its policy allows one`,
      );
    }
    if (waiting > TIMES.waitingMax) this.#world.violate(`schedule ${id} has ${waiting} occurrences that wait`);
  }
}

function nameOf(scheduleId: string, atMs: number): string {
  return `${scheduleId}\n${atMs}`;
}
