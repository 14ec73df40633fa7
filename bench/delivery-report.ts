/** What the delivery benchmark found: medians over the rounds, as a table. */
import { median, printTable, rounded } from './figures.js';
import { total, type Cpu } from './meter.js';

export type Subject = 'floor' | 'carillon' | 'bullmq';

/** One contender's turn. CPU in seconds for 1,000 messages. */
export interface Trial {
  readonly subject: Subject;
  readonly concurrency: number;
  readonly perSecond: number;
  readonly cpu: Cpu;
  readonly receiverCpu: number;
  /** Of what was there beside the node; not the node's. */
  readonly besideCpu: number;
  /** What accepting the messages cost beforehand. */
  readonly acceptCpu: Cpu | null;
  /** Cores that other programs used meanwhile. */
  readonly otherCores: number;
  readonly loadAverage: number;
}

export type MedianTrial = Omit<Trial, 'loadAverage' | 'besideCpu'>;

export function mediansOf(trials: readonly Trial[]): MedianTrial[] {
  const groups = new Map<string, Trial[]>();
  for (const trial of trials) {
    const name = `${trial.concurrency} ${trial.subject}`;
    groups.set(name, [...(groups.get(name) ?? []), trial]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const middle = (value: (trial: Trial) => number): number => rounded(median(group.map(value)), 4);
    const middleCpu = (cpu: (trial: Trial) => Cpu): Cpu => ({
      node: middle((trial) => cpu(trial).node),
      redis: middle((trial) => cpu(trial).redis),
      postgres: middle((trial) => cpu(trial).postgres),
    });
    return {
      subject: first.subject,
      concurrency: first.concurrency,
      perSecond: Math.round(middle((trial) => trial.perSecond)),
      cpu: middleCpu((trial) => trial.cpu),
      receiverCpu: middle((trial) => trial.receiverCpu),
      acceptCpu: first.acceptCpu === null ? null : middleCpu((trial) => trial.acceptCpu ?? trial.cpu),
      otherCores: middle((trial) => trial.otherCores),
    };
  });
}

export function printMedians(medians: readonly MedianTrial[]): void {
  printTable(
    [
      ...['', 'at once', 'a second', '× BullMQ', '× floor', 'CPU', '× BullMQ', 'node', 'Redis', 'PostgreSQL'],
      ...['accept', 'receiver', 'others'],
    ],
    medians.map((row) => {
      const to = (subject: Subject, value: (trial: MedianTrial) => number): string => {
        const other = medians.find((one) => one.concurrency === row.concurrency && one.subject === subject);
        return other === undefined ? '' : (value(row) / value(other)).toFixed(2);
      };
      const { cpu } = row;
      return [
        ...[row.subject, row.concurrency, row.perSecond],
        ...[to('bullmq', (trial) => trial.perSecond), to('floor', (trial) => trial.perSecond)],
        ...[total(cpu).toFixed(3), to('bullmq', (trial) => total(trial.cpu))],
        ...[cpu.node.toFixed(3), cpu.redis.toFixed(3), cpu.postgres.toFixed(3)],
        row.acceptCpu === null ? '' : total(row.acceptCpu).toFixed(3),
        ...[row.receiverCpu.toFixed(3), row.otherCores.toFixed(2)],
      ];
    }),
  );
}

export function describeTrial(trial: Trial): string {
  const { subject: contender, concurrency, perSecond, cpu, otherCores } = trial;
  return (
    `${contender.padEnd(9)} ${String(concurrency).padStart(4)} at once: ${String(perSecond).padStart(6)} a second, ` +
    `CPU ${total(cpu).toFixed(3)} (node ${cpu.node.toFixed(3)}, Redis ${cpu.redis.toFixed(3)}, PostgreSQL ${cpu.postgres.toFixed(3)}), ` +
    `others used ${otherCores.toFixed(2)} cores, load ${trial.loadAverage.toFixed(1)}`
  );
}
