// Clients that save, edit, pause, resume, delete and make schedules again, all the time and through any node.

import type { ScheduleDefinition } from '../../src/domain/schedule.js';
import type { NodeIntake } from '../../src/intake/node-intake.js';
import type { SimulatedNode, Environment } from './node.js';

const SCHEDULES = 6;
/** A change of some schedule comes, in the mean, so often. */
const CHANGE_EVERY_MS = 1_500;
/** Those that fire in minutes are left alone for long enough. */
const FAR_CHANGE_EVERY_MS = 30_000;
/** So many changes come while their schedule is being fired. */
const IS_AT_FIRE = 0.5;
const FIRES_WITHIN_MS = 15;
const SOON_MS = 10_000;
const FIRST_WITHIN_MS = 3_000;
/** Of changes: edits (which make a schedule that is not there), and the rest by the names of what they do. */
const CHANGES = ['save', 'save', 'save', 'save all', 'pause', 'resume', 'resume', 'delete', 'trigger'] as const;
/** Saved by one request. */
const SOME = ['s1', 's3', 's4'];
const CALENDARS = ['*/2 * * * * *', '*/3 * * * * *', '*/5 * * * * *', '@every 4s', '* * * * *', '*/7 * * * * *'];
const FAR_CALENDARS = ['@every 95s', '@every 120s', '*/2 * * * *'];
/** Paused again until each is: a client that hears of an error tries again. */
const PAUSE_EVERY_MS = 500;

/** The header by which it is seen from which definition an occurrence came. */
export const REVISION = 'X-Revision';

export class ScheduleClients {
  readonly #around: Environment;
  readonly #nodes: () => readonly SimulatedNode[];
  #revision = 0;
  #isOver = false;

  readonly #calendars: readonly string[];
  readonly #changeEveryMs: number;

  /** `isFar`: occurrences are minutes apart. */
  constructor(around: Environment, nodes: () => readonly SimulatedNode[], isFar: boolean) {
    this.#calendars = isFar ? FAR_CALENDARS : CALENDARS;
    this.#changeEveryMs = isFar ? FAR_CHANGE_EVERY_MS : CHANGE_EVERY_MS;
    this.#around = around;
    this.#nodes = nodes;
  }

  begin(): void {
    const { world } = this.#around;
    for (let schedule = 1; schedule <= SCHEDULES; schedule++) {
      world.after(world.random.within(0, FIRST_WITHIN_MS), () => this.#save(`s${schedule}`));
    }
    this.#changeOn();
  }

  end(): void {
    this.#isOver = true;
  }

  /** Pauses all, so that work comes to an end. */
  pauseAll(): void {
    const { world, postgres } = this.#around;
    this.#isOver = true;
    for (const { id, state } of postgres.tables.schedules.values()) {
      if (state === 'active') this.#ask((intake) => intake.pauseSchedule(1, id));
    }
    world.after(PAUSE_EVERY_MS, () => this.pauseAll());
  }

  #changeOn(): void {
    const { world } = this.#around;
    const { random } = world;
    world.after(-Math.log(1 - random.next()) * this.#changeEveryMs, () => {
      if (this.#isOver) return;
      const id = `s${random.between(1, SCHEDULES)}`;
      world.after(random.happens(IS_AT_FIRE) ? this.#untilFires(id) + random.within(0, FIRES_WITHIN_MS) : 0, () => {
        if (!this.#isOver) this.#change(id);
      });
      this.#changeOn();
    });
  }

  /** Until the next nominal time of a schedule, if that comes soon: it is being fired then. */
  #untilFires(id: string): number {
    const { postgres, redis } = this.#around;
    const inMs = (postgres.tables.schedules.get(`1\n${id}`)?.next_fire_at ?? 0) - redis.exactMs();
    return inMs > 0 && inMs < SOON_MS ? inMs : 0;
  }

  #change(id: string): void {
    const { random } = this.#around.world;
    switch (random.pickIfAny(CHANGES)) {
      case 'pause':
        this.#ask((intake) => intake.pauseSchedule(1, id));
        return;
      case 'resume':
        this.#ask((intake) => intake.resumeSchedule(1, id));
        return;
      case 'delete':
        this.#ask((intake) => intake.deleteSchedule(1, id));
        return;
      case 'trigger':
        this.#ask((intake) => intake.triggerSchedule(1, id));
        return;
      case 'save all': {
        const wanted = SOME.map((some) => ({
          id: some,
          definition: this.#definition(some),
          paused: random.happens(0.2),
        }));
        this.#ask((intake) => intake.saveSchedules(1, wanted));
        return;
      }
      default:
        this.#save(id);
    }
  }

  #save(id: string): void {
    const wanted = this.#definition(id);
    this.#ask((intake) => intake.saveSchedule(1, id, wanted));
  }

  /** The next revision: every second one leaves the calendar as it is, and edits what is sent. */
  #definition(id: string): ScheduleDefinition {
    const { random } = this.#around.world;
    const existing = this.#around.postgres.tables.schedules.get(`1\n${id}`);
    const isSameCalendar = existing !== undefined && random.happens(0.5);
    const nowMs = Math.floor(this.#around.redis.exactMs());
    this.#revision += 1;
    return {
      cron: isSameCalendar ? existing.cron : (random.pickIfAny(this.#calendars) ?? ''),
      destination: `http://scheduled-${id}.test/`,
      headers: { [REVISION]: [String(this.#revision)] },
      delayMs: random.happens(0.2) ? random.between(1, 1_500) : 0,
      windowMs: random.happens(0.2) ? 1_000 : 0,
      misfire: random.pickIfAny(['once', 'all', 'skip']) ?? 'once',
      misfireWindowMs: 10_000,
      overlap: random.pickIfAny(['allow', 'skip', 'queue']) ?? 'allow',
      // Some for each occurrence, some for all of the schedule's, so that most of those are skipped.
      keyTemplate: random.happens(0.2) ? (random.pickIfAny([`${id} {occurrence}`, id]) ?? null) : null,
      startAtMs: random.happens(0.1) ? nowMs + random.between(0, 5_000) : null,
      endAtMs: random.happens(0.15) ? nowMs + random.between(5_000, 25_000) : null,
      ...{ timeZone: null, anchorMs: null },
      ...{ method: 'POST', body: Buffer.from('s'), maxRetries: 1, retryDelay: '700', timeoutMs: 5_000 },
      ...{ callback: null, failureCallback: null, labels: [], redact: null, callerIp: null },
    };
  }

  #ask(request: (intake: NodeIntake) => Promise<unknown>): void {
    this.#around.world.random.pickIfAny(this.#nodes())?.ask(request);
  }
}
