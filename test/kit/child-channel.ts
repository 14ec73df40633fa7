/** Questions and answers with a child process over IPC: receivers and network paths run apart, so that nothing here can slow them. */
import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export class ChildChannel {
  /** What the child says by itself once it is up. */
  readonly up: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  /** `program` is a compiled module. */
  constructor(program: URL) {
    const file = fileURLToPath(program);
    const name = path.basename(file);
    // A session of its own: Ctrl-C in the terminal is ours to handle.
    this.#child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [], detached: true });
    this.up = this.#expect(0);
    this.#child.on('message', (message) => {
      const { id, result, error } = message as { id: number; result: unknown; error?: string };
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(`${name}: ${error}`));
    });
    this.#child.on('exit', (code, signal) => {
      for (const { reject } of this.#asked.values()) reject(new Error(`${name} ended: ${code ?? signal}`));
      this.#asked.clear();
    });
  }

  ask(what: string, given: object = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = this.#expect(id);
    this.#child.send({ id, what, given });
    return answer;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  #expect(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }
}

/** The child's side: answers questions by name, and ends with its parent, after `last`. */
export function answerParent(
  handlers: Readonly<Record<string, (given: never) => unknown>>,
  last: () => void = () => undefined,
): (result: unknown) => void {
  const send = (message: object): void => void process.send?.(message);
  process.on('message', (message) => {
    const { id, what, given } = message as { id: number; what: string; given: never };
    void (async () => {
      try {
        send({ id, result: await handlers[what]?.(given) });
      } catch (error) {
        send({ id, error: String(error) });
      }
    })();
  });
  process.on('disconnect', () => {
    last();
    process.exit(0);
  });
  return (result) => send({ id: 0, result });
}
