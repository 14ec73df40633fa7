/** Typed messages between the benchmark and the processes it forks. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { now } from './harness.js';

/** What a child says; which fields a kind has is between the child and its starter. */
export interface Note {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** A forked process that answers in notes. */
export class Child {
  /** When its process was started. */
  readonly startedAtMs: number;
  readonly #process: ChildProcess;
  readonly #listeners = new Set<(note: Note) => void>();
  #ended: string | null = null;
  readonly #onEnd = new Set<() => void>();

  /** `file` is a compiled module beside this one; `options` reach it as JSON in its first argument. */
  constructor(file: string, options: unknown) {
    this.startedAtMs = now();
    const module = fileURLToPath(new URL(`./${file}`, import.meta.url));
    this.#process = fork(module, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#process.on('message', (note) => {
      for (const listener of [...this.#listeners]) listener(note as Note);
    });
    this.#process.on('exit', (code, signal) => {
      this.#ended = `${file} ended (${signal ?? `exit code ${code}`})`;
      for (const tell of [...this.#onEnd]) tell();
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  tell(note: Note): void {
    this.#process.send(note);
  }

  /** The next note of a kind. Rejects when the process ends, or after `timeoutMs`. */
  async next<Expected extends Note>(kind: string, timeoutMs = 180_000): Promise<Expected> {
    if (this.#ended !== null) throw new Error(this.#ended);
    return await new Promise<Expected>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(listen);
        this.#onEnd.delete(end);
      };
      const listen = (note: Note): void => {
        if (note.kind !== kind) return;
        settle();
        resolve(note as Expected);
      };
      const end = (): void => {
        settle();
        reject(new Error(this.#ended ?? 'the process ended'));
      };
      const timer = setTimeout(() => {
        settle();
        reject(new Error(`waited ${timeoutMs} ms for "${kind}"`));
      }, timeoutMs);
      this.#listeners.add(listen);
      this.#onEnd.add(end);
    });
  }

  /** Says something and waits for the answer of a kind. */
  async ask<Expected extends Note>(note: Note, kind: string, timeoutMs?: number): Promise<Expected> {
    const answer = this.next<Expected>(kind, timeoutMs);
    this.tell(note);
    return await answer;
  }

  async stop(): Promise<void> {
    if (this.#ended !== null) return;
    const ended = new Promise<void>((resolve) => this.#onEnd.add(resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** In a child: the options it was started with. */
export function startOptions(): unknown {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** In a child: says something to the benchmark. */
export function say(note: Note): void {
  process.send?.(note);
}

/** In a child: hears what the benchmark says, and ends with it. */
export function hear(listener: (note: Note) => void): void {
  process.on('message', (note) => listener(note as Note));
  process.on('disconnect', () => process.exit(0));
}
