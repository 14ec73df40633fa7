// Care of the table: partitions made ahead, old ones dropped whole, expired keys forgotten.

import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Database } from './database.js';
import { timestamp } from './message-columns.js';
import { dropOldPartitions, ensurePartitions, type PartitionBounds } from './partitions.js';

export interface MaintenanceSettings {
  readonly everyMs: number;
  readonly delayMaxMs: number;
  readonly retentionMs: number;
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const KEYS_AT_ONCE = 5_000;

/** The time that must have partitions: what is kept, and as far ahead as anything may be due, with a few weeks to spare. */
export function partitionBounds(nowMs: number, settings: Pick<MaintenanceSettings, 'delayMaxMs'>): PartitionBounds {
  return { fromMs: nowMs - 2 * WEEK_MS, untilMs: nowMs + settings.delayMaxMs + 3 * WEEK_MS };
}

export class Maintenance {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #settings: MaintenanceSettings;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | null = null;
  #underWay: Promise<void> = Promise.resolve();

  constructor(database: Database, clock: Clock, settings: MaintenanceSettings, log: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#settings = settings;
    this.#log = log;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#underWay = this.#underWay.then(() => this.run()).catch((error: unknown) => this.#failed(error));
    }, this.#settings.everyMs);
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#underWay;
  }

  async run(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const made = await ensurePartitions(this.#database, partitionBounds(nowMs, this.#settings));
    const dropped = await dropOldPartitions(this.#database, nowMs - this.#settings.retentionMs);
    const expiredKeys = await this.#forgetKeys(nowMs);
    if (made.length + dropped.length + expiredKeys > 0) {
      this.#log.info({ made, dropped, expiredKeys }, 'table maintained');
    }
  }

  async #forgetKeys(nowMs: number): Promise<number> {
    let forgotten = 0;
    for (;;) {
      const rows = await this.#database.run('delete-expired-keys', [timestamp(nowMs), KEYS_AT_ONCE]);
      forgotten += rows.length;
      if (rows.length < KEYS_AT_ONCE) return forgotten;
    }
  }

  #failed(error: unknown): void {
    const isAway = error instanceof CarillonError;
    if (isAway) this.#log.warn({ err: error }, 'table not maintained this time');
    else this.#log.error({ err: error }, 'table maintenance failed');
  }
}
