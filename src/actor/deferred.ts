// Lets many callers wait for an event that happens once, before or after it has happened.

/** Stays resolved for ever once it is resolved. */
export class Deferred {
  readonly promise: Promise<void>;
  readonly #resolve: () => void;

  constructor() {
    let resolve = (): void => undefined;
    this.promise = new Promise((promise) => (resolve = promise));
    this.#resolve = resolve;
  }

  resolve(): void {
    this.#resolve();
  }
}
