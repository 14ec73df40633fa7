/** Medians, percentiles, tables and the record of a run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describeMachine } from './machine.js';

const require = createRequire(import.meta.url);

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The smallest value that `share` (0 to 1) of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** Prints rows under their headings, numbers to the right. */
export function printTable(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const cells = [headings, ...rows.map((row) => row.map(String))];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  cells.forEach((row, index) => {
    const line = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(line.join('  '));
    if (index === 0) console.log(widths.map((width) => '-'.repeat(width)).join('  '));
  });
}

/** Everything that a figure depends on and that has a version. */
export function versions(stores: { readonly redis: string; readonly postgres: string }): Record<string, string> {
  const packages = ['undici', 'bullmq', 'ioredis', 'pg', 'fastify'];
  return {
    carillon: versionIn(path.resolve('package.json')),
    node: process.versions.node,
    postgres: stores.postgres,
    redis: stores.redis,
    ...Object.fromEntries(packages.map((name) => [name, packageVersion(name)])),
  };
}

/** Its package.json may be closed to `require`: the entry point is not, and the file lies above it. */
function packageVersion(name: string): string {
  const entry = require.resolve(name);
  const marker = path.join('node_modules', name);
  return versionIn(path.join(entry.slice(0, entry.lastIndexOf(marker) + marker.length), 'package.json'));
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Writes bench/results/<name>.json: the figures, what they were taken with, and on what kind of machine. */
export function writeRecord(
  name: string,
  storeVersions: { readonly redis: string; readonly postgres: string },
  figures: Record<string, unknown>,
): void {
  const folder = path.resolve('bench', 'results');
  mkdirSync(folder, { recursive: true });
  const record = {
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    versions: versions(storeVersions),
    ...figures,
  };
  writeFileSync(path.join(folder, `${name}.json`), `${JSON.stringify(record, null, 2)}\n`);
}
