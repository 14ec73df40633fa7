/** The schedules of the load: every second, every five seconds, every minute; edited, saved again, paused, resumed, deleted. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.js';
import type { SeededRandom } from '../../test/kit/seeded-random.js';
import type { ScheduleChange, ScheduleHistory } from './evidence.js';

export interface ScheduleLoadOptions {
  readonly api: Api;
  readonly random: SeededRandom;
  readonly receiverUrl: string;
  readonly everySecond: number;
  readonly everyFive: number;
  readonly everyMinute: number;
  /** Mean time between two changes. */
  readonly changeEveryMs: number;
}

interface Kept extends ScheduleHistory {
  readonly cron: string;
  readonly changes: ScheduleChange[];
  version: number;
  /** Changes of one schedule are made one after the other. */
  busy: boolean;
  deleted: boolean;
}

const ASK_AGAIN_MS = 300;
const AT_ONCE = 8;
/** Of the time between two changes. */
const HURRY = 0.1;
const PAUSE_MS = [2_000, 9_000] as const;

export class ScheduleLoad {
  readonly #options: ScheduleLoadOptions;
  readonly #kept: Kept[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** While set, changes come so often that some are under way at any moment. */
  hurries = false;
  #stopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ScheduleLoadOptions) {
    this.#options = options;
  }

  get histories(): readonly ScheduleHistory[] {
    return this.#kept;
  }

  /** How many exist. */
  get count(): number {
    return this.#kept.filter(({ deleted }) => !deleted).length;
  }

  /** Creates them all, then changes now and then one of them until `stop`. */
  async start(): Promise<void> {
    const { everySecond, everyFive, everyMinute } = this.#options;
    const wanted = [
      ...Array.from({ length: everySecond }, (_, index) => this.#planned(`second-${index}`, 1_000, index % 2 === 0)),
      ...Array.from({ length: everyFive }, (_, index) => this.#planned(`five-${index}`, 5_000, index % 2 === 0)),
      ...Array.from({ length: everyMinute }, (_, index) => this.#planned(`minute-${index}`, 60_000, true)),
    ];
    await this.#eachOf(wanted, (kept) => this.#save(kept, 'create'));
    this.#running = this.#run();
  }

  /** Makes no more changes, and pauses everything: from then on nothing new is fired. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await Promise.all(this.#underWay);
    await this.#eachOf(
      this.#kept.filter(({ deleted }) => !deleted),
      (kept) => this.#change(kept, 'pause', (client) => client.schedules.pause({ schedule: kept.id })),
    );
  }

  #planned(id: string, periodMs: number, onTheClock: boolean): Kept {
    const cron = onTheClock ? CRON[periodMs] : `@every ${periodMs / 1_000}s`;
    if (cron === undefined) throw new Error(`no cron expression for ${periodMs} ms`);
    const kept = { id, periodMs, onTheClock, cron, changes: [], version: 0, busy: false, deleted: false };
    this.#kept.push(kept);
    return kept;
  }

  async #eachOf(schedules: readonly Kept[], work: (kept: Kept) => Promise<void>): Promise<void> {
    const rest = schedules.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const kept of rest) await work(kept);
      }),
    );
  }

  async #run(): Promise<void> {
    const { random: chance, changeEveryMs } = this.#options;
    while (!this.#stopping) {
      await delay((this.hurries ? HURRY : 1) * changeEveryMs * (0.5 + chance.next()));
      const kept = chance.pick(this.#kept);
      const draw = chance.next();
      if (kept.busy || kept.deleted) continue;
      kept.busy = true;
      const work: Promise<void> = this.#changeSomehow(kept, draw).finally(() => {
        kept.busy = false;
        this.#underWay.delete(work);
      });
      this.#underWay.add(work);
    }
  }

  async #changeSomehow(kept: Kept, draw: number): Promise<void> {
    if (draw < 0.5) await this.#save(kept, 'edit');
    else if (draw < 0.65) await this.#save(kept, 'save-again');
    else if (draw < 0.92) await this.#pauseForAWhile(kept);
    else await this.#replace(kept);
  }

  async #pauseForAWhile(kept: Kept): Promise<void> {
    await this.#change(kept, 'pause', (client) => client.schedules.pause({ schedule: kept.id }));
    await delay(this.#options.random.between(...PAUSE_MS));
    await this.#change(kept, 'resume', (client) => client.schedules.resume({ schedule: kept.id }));
  }

  /** Deletes it, and creates another one like it. */
  async #replace(kept: Kept): Promise<void> {
    await this.#change(kept, 'delete', (client) => client.schedules.delete(kept.id));
    kept.deleted = true;
    const successor = this.#planned(`${kept.id}-again`, kept.periodMs, kept.onTheClock);
    await this.#save(successor, 'create');
  }

  async #save(kept: Kept, what: 'create' | 'edit' | 'save-again'): Promise<void> {
    if (what !== 'save-again') kept.version += 1;
    const destination = `${this.#options.receiverUrl}/schedule?v=${kept.version}`;
    await this.#change(kept, what, (client) =>
      client.schedules.create({ scheduleId: kept.id, cron: kept.cron, destination, retries: 5, retryDelay: '500' }),
    );
  }

  /** Asks until it is acknowledged: every change here may be asked for twice. */
  async #change(kept: Kept, what: ScheduleChange['what'], work: Parameters<Api['ask']>[0]): Promise<void> {
    const askedAtMs = Date.now();
    const { version } = kept;
    for (;;) {
      const answer = await this.#options.api.change(work, what === 'delete' ? [404] : []);
      const isDone = answer.kind === 'ok' || (what === 'delete' && answer.status === 404);
      if (isDone) {
        kept.changes.push({ what, version, askedAtMs, acknowledgedAtMs: Date.now() });
        return;
      }
      await delay(ASK_AGAIN_MS);
    }
  }
}

const CRON: Readonly<Record<number, string>> = { 1_000: '* * * * * *', 5_000: '*/5 * * * * *', 60_000: '* * * * *' };
