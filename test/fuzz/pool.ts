// What earlier answers told: ids and cursors, so that later requests name things that exist.

import type { SeededRandom } from '../kit/seeded-random.js';

export type Kept = 'messageId' | 'dlqId' | 'scheduleId' | 'cursor' | 'tenant' | 'tokenId' | 'adminTokenId';

/** Enough to choose from, and few enough that later things are chosen too. */
const KEPT_OF_A_KIND = 200;

export class Pool {
  readonly #kept = new Map<Kept, string[]>();

  add(kind: Kept, value: string): void {
    const values = this.#kept.get(kind) ?? [];
    this.#kept.set(kind, values);
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > KEPT_OF_A_KIND) values.shift();
  }

  /** One of them; mostly a late one, since early ones may be gone. `otherwise` when there is none. */
  pick(random: SeededRandom, kind: Kept, otherwise: string): string {
    const values = this.#kept.get(kind) ?? [];
    if (values.length === 0) return otherwise;
    return random.pick(random.happens(0.7) ? values.slice(-8) : values);
  }

  /** Keeps what a successful answer names, by the names of its members. */
  learn(answer: unknown): void {
    if (Array.isArray(answer)) for (const item of answer.slice(0, 100)) this.learn(item);
    else if (typeof answer === 'object' && answer !== null) {
      for (const [name, value] of Object.entries(answer)) {
        if (typeof value === 'string') this.#learnMember(name, value);
        else this.learn(value);
      }
    }
  }

  #learnMember(name: string, value: string): void {
    if (name === 'messageId' || name === 'dlqId' || name === 'scheduleId' || name === 'cursor') this.add(name, value);
  }
}
