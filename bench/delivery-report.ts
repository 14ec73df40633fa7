/** What the delivery benchmark found: medians over the rounds, as a table. */
import { median, printTable, rounded } from './figures.js';
import { total, type Cpu } from './meter.js';

export type Contender = 'floor' | 'carillon' | 'bullmq';

/** One contender's turn. CPU in seconds for 1,000 messages. */
export interface Heat {
  readonly contender: Contender;
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

export type MedianHeat = Omit<Heat, 'loadAverage' | 'besideCpu'>;

export function mediansOf(heats: readonly Heat[]): MedianHeat[] {
  const groups = new Map<string, Heat[]>();
  for (const heat of heats) {
    const name = `${heat.concurrency} ${heat.contender}`;
    groups.set(name, [...(groups.get(name) ?? []), heat]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const middle = (value: (heat: Heat) => number): number => rounded(median(group.map(value)), 4);
    const middleCpu = (cpu: (heat: Heat) => Cpu): Cpu => ({
      node: middle((heat) => cpu(heat).node),
      redis: middle((heat) => cpu(heat).redis),
      postgres: middle((heat) => cpu(heat).postgres),
    });
    return {
      contender: first.contender,
      concurrency: first.concurrency,
      perSecond: Math.round(middle((heat) => heat.perSecond)),
      cpu: middleCpu((heat) => heat.cpu),
      receiverCpu: middle((heat) => heat.receiverCpu),
      acceptCpu: first.acceptCpu === null ? null : middleCpu((heat) => heat.acceptCpu ?? heat.cpu),
      otherCores: middle((heat) => heat.otherCores),
    };
  });
}

export function printMedians(medians: readonly MedianHeat[]): void {
  printTable(
    [
      ...['', 'at once', 'a second', '× BullMQ', '× floor', 'CPU', '× BullMQ', 'node', 'Redis', 'PostgreSQL'],
      ...['accept', 'receiver', 'others'],
    ],
    medians.map((row) => {
      const to = (contender: Contender, value: (heat: MedianHeat) => number): string => {
        const other = medians.find((one) => one.concurrency === row.concurrency && one.contender === contender);
        return other === undefined ? '' : (value(row) / value(other)).toFixed(2);
      };
      const { cpu } = row;
      return [
        ...[row.contender, row.concurrency, row.perSecond],
        ...[to('bullmq', (heat) => heat.perSecond), to('floor', (heat) => heat.perSecond)],
        ...[total(cpu).toFixed(3), to('bullmq', (heat) => total(heat.cpu))],
        ...[cpu.node.toFixed(3), cpu.redis.toFixed(3), cpu.postgres.toFixed(3)],
        row.acceptCpu === null ? '' : total(row.acceptCpu).toFixed(3),
        ...[row.receiverCpu.toFixed(3), row.otherCores.toFixed(2)],
      ];
    }),
  );
}

export function describeHeat(heat: Heat): string {
  const { contender, concurrency, perSecond, cpu, otherCores } = heat;
  return (
    `${contender.padEnd(9)} ${String(concurrency).padStart(4)} at once: ${String(perSecond).padStart(6)} a second, ` +
    `CPU ${total(cpu).toFixed(3)} (node ${cpu.node.toFixed(3)}, Redis ${cpu.redis.toFixed(3)}, PostgreSQL ${cpu.postgres.toFixed(3)}), ` +
    `others used ${otherCores.toFixed(2)} cores, load ${heat.loadAverage.toFixed(1)}`
  );
}
