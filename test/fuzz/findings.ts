// What a run found, with what the node's log says of it, without what is known, once of each kind.

import type { LogLine } from '../kit/test-node-process.js';
import { KNOWN } from './known.js';

export interface Finding {
  /** Seed, number and mutations of the request, and the number of the one before it on its connection. */
  readonly request: string;
  readonly operation: string;
  readonly fault: string;
  /** The answer, and the bytes that were sent. */
  readonly details: string;
}

/** Texts for people, one for each kind of finding that is not known. */
export function reportsOf(findings: readonly Finding[], log: readonly LogLine[]): string[] {
  const reports = new Map<string, string>();
  for (const finding of findings) {
    const fault = finding.fault + causeOf(finding, log);
    const kind = `${finding.operation}: ${fault}`;
    const isKnown = KNOWN.some((known) => known.operation.test(finding.operation) && known.fault.test(fault));
    if (!isKnown && !reports.has(kind)) reports.set(kind, `${finding.request}, ${kind}\n${finding.details}`);
  }
  return [...reports.values()];
}

/** The error that the node logged under the id that its answer tells. */
function causeOf({ details }: Finding, log: readonly LogLine[]): string {
  const id = /logged as request ([0-9a-f]+)/.exec(details)?.[1];
  const error = log.find((line) => id !== undefined && line.requestId === id)?.err;
  if (typeof error !== 'object' || error === null) return '';
  // Errors of PostgreSQL are logged without a stack.
  const text = 'stack' in error ? error.stack : 'message' in error ? error.message : '';
  return ` (${String(text).split('\n').slice(0, 4).join(' ').replace(/\s+/g, ' ')})`;
}
