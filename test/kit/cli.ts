/** Runs the command line client in this process, against a node whose connection.json lies in a folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { main } from '../../cli/main.js';

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CliWorld {
  /** Null: the output is no terminal. */
  readonly columns?: number;
  readonly input?: Buffer;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Cli {
  readonly home: string;
  /** Runs a command; the options that name the folder are added. */
  run(args: readonly string[], world?: CliWorld): Promise<CliResult>;
  /** Runs a command that must succeed, with --json, and gives what it printed. */
  json(...args: string[]): Promise<Record<string, unknown>>;
  remove(): void;
}

export function cliFor(connection: { url: string; token: string; adminToken: string }): Cli {
  const home = mkdtempSync(path.join(tmpdir(), 'carillon-cli-'));
  writeFileSync(path.join(home, 'connection.json'), JSON.stringify(connection));
  const run = (args: readonly string[], world?: CliWorld): Promise<CliResult> =>
    runCli(args, { ...world, environment: { CARILLON_HOME: home, ...world?.environment } });
  return {
    home,
    run,
    json: async (...args) => {
      const { code, out, err } = await run([...args, '--json']);
      if (code !== 0) throw new Error(`carillon ${args.join(' ')}: exit code ${code}, ${err}`);
      return JSON.parse(out) as Record<string, unknown>;
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

export async function runCli(args: readonly string[], world: CliWorld = {}): Promise<CliResult> {
  let out = '';
  let err = '';
  const code = await main(args, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    drained: () => Promise.resolve(),
    input: () => Promise.resolve(world.input ?? Buffer.alloc(0)),
    columns: world.columns ?? null,
    environment: world.environment ?? {},
  });
  return { code, out, err };
}
