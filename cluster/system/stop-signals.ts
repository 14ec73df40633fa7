/** Turns Ctrl-C and the other signals that end a program into two promises: stop, and hurry. */

export interface StopSignals {
  /** Settles at the first signal. */
  readonly requested: Promise<void>;
  /** Settles when a later signal shows that somebody is losing patience. */
  readonly hurry: Promise<void>;
  /** True once `requested` has settled. */
  readonly stopping: () => boolean;
  /** Gives the signals back to the runtime. */
  release(): void;
}

// One Ctrl-C arrives twice: the terminal sends it to us, and npm, which got it as well, passes it on.
const SAME_KEYPRESS_MS = 700;
const PARENT_POLL_MS = 250;
const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Listens from now on. */
export function listenForStop(): StopSignals {
  let firstAtMs: number | undefined;
  let request: () => void = () => undefined;
  let rush: () => void = () => undefined;
  const requested = new Promise<void>((resolve) => {
    request = resolve;
  });
  const hurry = new Promise<void>((resolve) => {
    rush = resolve;
  });
  const listener = (): void => {
    const nowMs = performance.now();
    firstAtMs ??= nowMs;
    request();
    if (nowMs - firstAtMs > SAME_KEYPRESS_MS) rush();
  };
  for (const name of NAMES) process.on(name, listener);
  const watch = watchParent(listener);
  return {
    requested,
    hurry,
    stopping: () => firstAtMs !== undefined,
    release: () => {
      for (const name of NAMES) process.removeListener(name, listener);
      clearInterval(watch);
    },
  };
}

/** A killed `npm start` cannot pass anything on: its being gone is the signal. */
function watchParent(listener: () => void): NodeJS.Timeout | undefined {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    listener();
  }, PARENT_POLL_MS);
  return watch.unref();
}
