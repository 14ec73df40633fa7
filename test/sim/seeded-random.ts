// Chance that can be had again: everything random in a simulation comes from one seed.

import { Chance } from '../../scripts/chaos/seeded-random.js';

export class SeededRandom {
  readonly #chance: Chance;

  constructor(seed: number) {
    this.#chance = new Chance(seed * 0x9e3779b1);
    // Neighbouring seeds begin alike.
    for (let round = 0; round < 4; round++) this.next();
  }

  /** From 0 to below 1. */
  next(): number {
    return this.#chance.next();
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.next() * items.length)];
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.whole(0, 255));
  }
}
