// Lets many wait for something that happens once, before or after it has happened.

/** Given once, and from then on for ever. */
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
