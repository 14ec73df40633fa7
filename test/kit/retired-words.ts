// Words that the code, its comments and its documents no longer use, with the words that replaced them. A word is added
// once the repository is free of it; test/architecture.test.ts keeps it so.

export interface RetiredWord {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly use: string;
  /** Lines that contain the word for a reason. */
  readonly except?: RegExp;
}

export const RETIRED_WORDS: readonly RetiredWord[] = [
  { pattern: /\boffer(?:Ahead|Later)\b/, use: 'enqueue, enqueueLater' },
  { pattern: /\bdisown\w*/i, use: 'clearOwner' },
  { pattern: /\bvouch\w*/i, use: 'bootstrap' },
  { pattern: /\bhearOf\b/, use: 'subscribe' },
  { pattern: /\bteller\b/i, use: 'StatsPublisher' },
  { pattern: /\bdiary\b/i, use: 'NodeStats' },
  { pattern: /distrust/i, use: 'suspend' },
  { pattern: /\bPayloadTrust\b/, use: 'PayloadFreshness' },
  { pattern: /\bgiveUp\b|\breleaseEarly\b/, use: 'cancel, releaseBeforeCommit' },
  { pattern: /\.(?:give|ring)\(/, use: 'Deferred.resolve, timer.wake' },
  { pattern: /\bAlarm\b/, use: 'WakeTimer' },
  { pattern: /\bcease[sd]?\b/i, use: 'stop' },
  { pattern: /\bhasten\w*|\brefenc\w*/i, use: 'sweepSoon, renewEpoch' },
  // The file of ADR 6 keeps its name, since links lead to it.
  { pattern: /\bnewcomers?\b|\bareLevel\b/i, use: 'joining, isBalanced', except: /0006-newcomers-take-what-is-free/ },
  { pattern: /\bspoil\w*|\bhappenings?\b/i, use: 'mutant, event' },
  { pattern: /\bsurroundings\b/i, use: 'dependencies' },
  { pattern: /\bannouncements?\b/i, use: 'banner, report' },
  { pattern: /\bhouses?\b/i, use: 'codebase' },
];
