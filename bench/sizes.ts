/** How large each part of the suite is: in full, in two minutes (`--quick`), and just so that everything runs once (`--smoke`). */

export interface Sizes {
  /** Table sizes that are held and started with; the last is also what lies there while others are measured. */
  readonly rows: readonly number[];
  readonly hold: {
    readonly hot: number;
    readonly jobs: number;
    /** Looks at Redis's memory, of which the least counts. */
    readonly samples: number;
  };
  /** Messages that a fresh process meets before it is measured. */
  readonly warmUpMessages: number;
  readonly restart: {
    readonly rounds: number;
    readonly preloaded: readonly number[];
    /** Longer than a node takes to stop. */
    readonly dueInMs: number;
    /** Between the first delivery and the look at the node's memory. */
    readonly settleMs: number;
  };
  readonly accept: { readonly seconds: number; readonly rounds: number };
  readonly deliver: {
    readonly messages: number;
    readonly rounds: number;
    readonly concurrency: number;
    /** After the first heartbeats of nodes that started together. */
    readonly sharingMs: number;
    /** Between accepting and the moment that all are due. */
    readonly leadMs: number;
  };
  readonly lag: { readonly rates: readonly number[]; readonly seconds: number; readonly promoted: number };
  readonly herd: {
    readonly size: number;
    readonly windowMs: number;
    /** For a node to start and warm up before the herd comes. */
    readonly leadMs: number;
  };
  readonly sustained: { readonly perSecond: number; readonly minutes: number; readonly minuteMs: number };
  readonly lists: {
    /** Of each kind, after `warmUp` others. */
    readonly questions: number;
    readonly warmUp: number;
    readonly deadLetters: number;
    /** Messages, and schedules, that have a label and what else a list is filtered by. */
    readonly marked: number;
  };
  /** Messages and their lead are those of `deliver`. */
  readonly watchers: { readonly sockets: number; readonly rounds: number };
}

const FULL: Sizes = {
  rows: [0, 100_000, 1_000_000, 10_000_000],
  hold: { hot: 100_000, jobs: 100_000, samples: 6 },
  warmUpMessages: 2_000,
  restart: { rounds: 3, preloaded: [20_000, 100_000], dueInMs: 4_000, settleMs: 3_000 },
  accept: { seconds: 8, rounds: 3 },
  deliver: { messages: 20_000, rounds: 3, concurrency: 200, sharingMs: 9_000, leadMs: 8_000 },
  lag: { rates: [30, 200, 1_000], seconds: 60, promoted: 100_000 },
  herd: { size: 50_000, windowMs: 60_000, leadMs: 20_000 },
  sustained: { perSecond: 200, minutes: 15, minuteMs: 60_000 },
  watchers: { sockets: 200, rounds: 5 },
  lists: { questions: 40, warmUp: 10, deadLetters: 50_000, marked: 200 },
};

const QUICK: Sizes = {
  rows: [0, 50_000],
  hold: { hot: 40_000, jobs: 2_000, samples: 4 },
  warmUpMessages: 1_000,
  restart: { rounds: 2, preloaded: [1_000], dueInMs: 3_000, settleMs: 1_000 },
  accept: { seconds: 1, rounds: 1 },
  deliver: { messages: 3_000, rounds: 1, concurrency: 100, sharingMs: 9_000, leadMs: 4_000 },
  lag: { rates: [200], seconds: 5, promoted: 5_000 },
  herd: { size: 1_000, windowMs: 5_000, leadMs: 8_000 },
  sustained: { perSecond: 200, minutes: 2, minuteMs: 4_000 },
  watchers: { sockets: 200, rounds: 3 },
  lists: { questions: 20, warmUp: 5, deadLetters: 5_000, marked: 100 },
};

const SMOKE: Sizes = {
  rows: [0, 2_000],
  hold: { hot: 500, jobs: 200, samples: 1 },
  warmUpMessages: 50,
  restart: { rounds: 1, preloaded: [100], dueInMs: 1_500, settleMs: 100 },
  accept: { seconds: 0.3, rounds: 1 },
  deliver: { messages: 300, rounds: 1, concurrency: 50, sharingMs: 1_500, leadMs: 1_500 },
  lag: { rates: [100], seconds: 1, promoted: 500 },
  herd: { size: 100, windowMs: 2_000, leadMs: 4_000 },
  sustained: { perSecond: 50, minutes: 2, minuteMs: 1_000 },
  watchers: { sockets: 20, rounds: 1 },
  lists: { questions: 4, warmUp: 1, deadLetters: 400, marked: 60 },
};

/** Settings of all nodes: what only makes starts and stops longer is not what a smoke run is about. */
export const SMOKE_NODES = {
  CARILLON_SHARDS: '16',
  CARILLON_LEAVE_MS: '0',
  CARILLON_LEASE_MS: '1500',
  CARILLON_HEARTBEAT_MS: '200',
  CARILLON_JOIN_GRACE_MS: '500',
};

export type Form = 'full' | 'quick' | 'smoke';

/** `mostRows` leaves out larger tables than that, and adds one of just that size. */
export function sizesOf(form: Form, mostRows: number | null): Sizes {
  const sizes = { full: FULL, quick: QUICK, smoke: SMOKE }[form];
  if (mostRows === null) return sizes;
  return { ...sizes, rows: [...sizes.rows.filter((rows) => rows < mostRows), mostRows] };
}
