/** Prints the verdict of a chaos run for people. */
import type { RequestCounts } from './api.js';
import type { Spread } from './check/findings.js';
import type { Verdict } from './check/verdict.js';
import type { ChaosOptions } from './options.js';

/** The table, line by line. */
export function reportText(verdict: Verdict, requests: RequestCounts, options: ChaosOptions): string {
  const { explained, lag } = verdict;
  const rows: [string, string][] = [
    ['faults', faultsText(verdict)],
    ['work due', `${verdict.due} (${verdict.occurrences} occurrences of schedules)`],
    ['delivered', `${verdict.delivered} (${verdict.retries} retries after failed answers)`],
    ['lost', String(verdict.lost)],
    ['early', String(verdict.early)],
    ['double records', String(verdict.doubleRecords)],
    [
      'second deliveries',
      `${verdict.duplicates}, of which ${verdict.unexplainedDuplicates} unexplained ` +
        `(${explained.kill} by a kill, ${explained.freeze} by a freeze, ${explained.cut} by a cut)`,
    ],
    ['lag, quiet', spreadText(lag.quiet)],
    ['lag, faults', spreadText(lag.fault)],
    ['failover', `${spreadText(verdict.failoverMs)}; bound ${options.leaseMs + 1_500} ms`],
    ['handover', spreadText(verdict.handoverMs)],
    ['shards moved', String(verdict.shardsMoved)],
    [
      'API requests',
      `${requests.ok} answered well, ${requests.unavailable} asked to come again (503), ${requests.refused} failed, ` +
        `${requests.broken} without an answer`,
    ],
  ];
  if (verdict.overtaken > 0)
    rows.push(['given up by a pause', `${verdict.overtaken} occurrences that were late already`]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const wrong = verdict.wrong.map(({ kind, count, examples }) =>
    [`  ${kind}: ${count}`, ...examples.map((example) => `    ${example}`)].join('\n'),
  );
  return [
    '',
    `Carillon under chaos: ${options.nodes === 1 ? 'one node' : `${options.nodes} nodes`}, ${options.minutes} minutes, seed ${options.seed}`,
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    ...faultLines(verdict),
    '',
    ...(wrong.length === 0 ? ['PASSED: every promise was kept'] : ['FAILED:', ...wrong]),
    '',
  ].join('\n');
}

function faultsText({ faults }: Verdict): string {
  const counts = new Map<string, number>();
  for (const { kind } of faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].map(([kind, count]) => (count === 1 ? kind : `${kind} (${count})`));
  return `${faults.length}: ${kinds.join(', ')}`;
}

/** One line a fault. */
function faultLines({ faults }: Verdict): string[] {
  const seconds = (ms: number | null): string => (ms === null ? 'never' : `${(ms / 1_000).toFixed(1)} s`);
  const ms = (value: number | null): string => (value === null ? '-' : String(Math.round(value)));
  const table = [
    ['  at', 'fault', 'lasted', 'whole again', 'lag p50', 'p99', 'max ms', 'moved', 'what'],
    ...faults.map(({ atMs, kind, lastedMs, recoveredMs, lag, shardsMoved, nodes, detail }) => [
      `  ${(atMs / 1_000).toFixed(0)} s`,
      kind,
      seconds(lastedMs),
      seconds(recoveredMs),
      ms(lag.p50),
      ms(lag.p99),
      ms(lag.max),
      String(shardsMoved),
      nodes.length === 1 ? `${nodes.join('')}: ${detail}` : detail,
    ]),
  ];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function spreadText({ count, p50, p99, max }: Spread): string {
  if (count === 0) return 'none measured';
  const ms = (value: number | null): string => (value === null ? '-' : String(Math.round(value)));
  return `p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)} ms (of ${count})`;
}

/** The one object of --json. */
export function reportJson(verdict: Verdict, requests: RequestCounts, options: ChaosOptions): string {
  const { minutes, nodes, seed, only, rate, leaseMs, shards } = options;
  return JSON.stringify({ ...verdict, requests, options: { minutes, nodes, seed, only, rate, leaseMs, shards } });
}
