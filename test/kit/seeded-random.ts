/** Randomness from a seed: the same seed gives the same simulation, chaos plan, load and fuzz. */

export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** For seeds that count up: neighbouring ones would begin alike. */
  static scrambled(seed: number): SeededRandom {
    const random = new SeededRandom(seed * 0x9e3779b1);
    for (let round = 0; round < 4; round++) random.next();
    return random;
  }

  /** From 0 up to, not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A number from `low` up to, not including, `high`. */
  within(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = this.pickIfAny(values);
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  /** Undefined when there is nothing to pick from. */
  pickIfAny<Value>(values: readonly Value[]): Value | undefined {
    return values[Math.floor(this.next() * values.length)];
  }

  /** True in that share of the cases. */
  happens(share: number): boolean {
    return this.next() < share;
  }

  shuffled<Value>(values: readonly Value[]): Value[] {
    const result = [...values];
    for (let index = result.length - 1; index > 0; index--) {
      const other = this.between(0, index);
      [result[index], result[other]] = [result[other] as Value, result[index] as Value];
    }
    return result;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.between(0, 255));
  }
}
