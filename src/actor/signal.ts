// Lets many wait for something that happens once, before or after it has happened.

/** Given once, and from then on for ever. */
export class Signal {
  readonly given: Promise<void>;
  readonly #resolve: () => void;

  constructor() {
    let resolve = (): void => undefined;
    this.given = new Promise((given) => (resolve = given));
    this.#resolve = resolve;
  }

  give(): void {
    this.#resolve();
  }
}
