// What all simulated servers have in common: they can be down, frozen, or another process than a moment ago.

import type { Link } from './link.js';
import type { World } from './world.js';

export class Server {
  readonly links = new Set<Link>();
  isUp = true;
  frozenUntilMs = 0;
  /** Rises when the process is another one: nothing that was on its way to the former one is carried out. */
  life = 1;

  constructor(
    readonly world: World,
    readonly name: string,
  ) {}

  get isFrozen(): boolean {
    return this.world.nowMs < this.frozenUntilMs;
  }

  freeze(durationMs: number): void {
    this.frozenUntilMs = Math.max(this.frozenUntilMs, this.world.nowMs + durationMs);
    this.world.note(`${this.name} freezes for ${durationMs.toFixed(0)} ms`);
  }

  kill(): void {
    this.isUp = false;
    this.life += 1;
    this.world.note(`${this.name} is down`);
    for (const link of this.links) link.reset();
  }

  /** A connection broke; whether the server hears of it is its own matter. */
  lostConnection(_link: Link): void {
    // Most keep nothing of a connection.
  }

  rise(): void {
    if (!this.isUp) this.world.note(`${this.name} is up`);
    this.isUp = true;
  }
}
