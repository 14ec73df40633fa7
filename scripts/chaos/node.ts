/** A node of the chaos cluster: each of its lives has a log file of its own. */
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { type Life, NodeProcess } from '../../test/kit/node-process.js';

export interface ChaosNodeOptions {
  readonly name: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly logs: string;
  /** Told of each new process before it can call anybody. */
  readonly onSpawn: (pid: number) => void;
}

/** A life and where its log is. */
export interface LoggedLife {
  readonly life: Life;
  readonly log: string;
}

export class ChaosNode extends NodeProcess {
  readonly #logs: string;

  constructor({ name, port, environment, logs, onSpawn }: ChaosNodeOptions) {
    const logOf = (life: number): string => path.join(logs, `${name}.${life}.log`);
    let descriptor: number | null = null;
    super({
      name,
      port,
      environment: () => environment,
      detached: true,
      // Straight into a file: a node must never wait for a reader.
      output: (life) => (descriptor = openSync(logOf(life), 'a', 0o600)),
      onSpawn: (_child, { pid }) => {
        if (descriptor !== null) closeSync(descriptor);
        onSpawn(pid);
      },
      describe: () => `its log is ${logOf(this.lives.length)}`,
    });
    this.#logs = logs;
  }

  get loggedLives(): LoggedLife[] {
    return this.lives.map((life, index) => ({ life, log: path.join(this.#logs, `${this.name}.${index + 1}.log`) }));
  }
}
