/** Reads a node's /metrics as Prometheus would: its text taken apart, strictly, so that what could not be read fails. */
import type { ApiMetrics } from '../../src/api/services.js';
import type { TestNode } from './node.js';

/** For tests of the API that count nothing. */
export const NO_FIGURES: ApiMetrics = {
  answered: () => undefined,
  contentType: 'text/plain',
  text: () => Promise.resolve(''),
};

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All that belongs to one name: a histogram's buckets, sum and count are its samples. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

export class Figures {
  readonly families: ReadonlyMap<string, Family>;

  /** Throws where the text is not in the format. */
  constructor(text: string) {
    const families = new Map<string, Family>();
    let help: readonly [string, string] = ['', ''];
    let family: Family | null = null;
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [, about, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
      if (about === 'HELP') help = [name, rest];
      else if (about === 'TYPE') {
        if (help[0] !== name) throw new Error(`no help before ${line}`);
        if (families.has(name)) throw new Error(`${name} is there twice`);
        family = { name, type: rest, help: help[1], samples: [] };
        families.set(name, family);
      } else {
        const sample = readSample(line);
        if (family === null || !belongs(sample.name, family)) throw new Error(`${line} stands below no ${sample.name}`);
        family.samples.push(sample);
      }
    }
    this.families = families;
  }

  /** The value of one series; throws when it is not there. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const family = this.families.get(name.replace(/_(?:bucket|sum|count)$/, '')) ?? this.families.get(name);
    const wanted = JSON.stringify(Object.entries(labels).sort());
    const found = family?.samples.filter(
      (sample) => sample.name === name && JSON.stringify(Object.entries(sample.labels).sort()) === wanted,
    );
    if (found?.length !== 1) throw new Error(`${name}${JSON.stringify(labels)} is there ${found?.length ?? 0} times`);
    return found[0]!.value;
  }
}

function belongs(name: string, { name: of, type }: Family): boolean {
  if (type === 'histogram') return [`${of}_bucket`, `${of}_sum`, `${of}_count`].includes(name);
  return name === of;
}

function readSample(line: string): Sample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || Number.isNaN(Number(value))) throw new Error(`this is no sample: ${line}`);
  const read: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labels.length) {
    const [, label, text] = LABEL.exec(labels) ?? [];
    if (label === undefined) throw new Error(`these are no labels: ${labels}`);
    read[label] = text ?? '';
  }
  return { name, labels: read, value: value === '+Inf' ? Infinity : Number(value) };
}

/** Asks as the administrator. */
export async function scrape(node: TestNode): Promise<Figures> {
  const response = await node.call('GET', '/metrics', { headers: { authorization: `Bearer ${node.adminToken}` } });
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${await response.text()}`);
  return new Figures(await response.text());
}
