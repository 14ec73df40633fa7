/**
 * The nodes of a local cluster: started together, each with its log. One that ends by itself is started again; one that somebody killed or
 * stopped stays down until somebody asks for it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Backoff } from './backoff.js';
import { ControlError } from '../launcher/control.js';
import type { NodeRecord } from '../launcher/cluster-file.js';
import { startNode, untilReady, type NodeEnd, type NodeProcess } from './node-process.js';
import type { NodeLaunch } from './node-settings.js';
import type { ProcessIdentity } from '../system/processes.js';
import type { Command } from '../system/server-process.js';
import { StartError } from '../launcher/start-error.js';

export interface LocalNodesOptions {
  readonly places: readonly NodeLaunch[];
  readonly environmentOf: (node: NodeLaunch) => NodeJS.ProcessEnv;
  readonly command: Command;
  readonly say: (line: string) => void;
  /** Told after a node was started or has ended. */
  readonly onChange: () => void;
}

interface Member {
  readonly config: NodeLaunch;
  readonly prefix: string;
  readonly backoff: Backoff;
  process?: NodeProcess;
  startedAtMs: number;
  /** How it ended; undefined while it runs. */
  ended: string | undefined;
}

/** Colours of the names on a terminal: cyan, magenta, yellow, blue, green. */
const COLOURS = [36, 35, 33, 34, 32];
/** A node that was asked for must be ready within this time, or the one who asked is told that it is not yet. */
const START_TIMEOUT_MS = 60_000;

export class LocalNodes {
  readonly #members: readonly Member[];
  #isReady = false;
  #isStopping = false;
  #onStaysDown: (reason: string) => void = () => undefined;
  #rejectStart: (problem: StartError) => void = () => undefined;
  /** Rejects when a node ends before all were ready once. */
  readonly #failed = new Promise<never>((_resolve, reject) => {
    this.#rejectStart = reject;
  });

  constructor(private readonly options: LocalNodesOptions) {
    const width = Math.max(...options.places.map(({ name }) => name.length));
    this.#members = options.places.map((config, index) => {
      const name = config.name.padEnd(width);
      const colour = COLOURS[index % COLOURS.length];
      return {
        config,
        backoff: new Backoff(),
        startedAtMs: 0,
        ended: 'not started',
        prefix: process.stdout.isTTY ? `\u001b[${colour}m${name}\u001b[0m ` : `${name} `,
      };
    });
    this.#failed.catch(() => undefined);
  }

  /** Starts all at once and waits until each is ready; false if `until` settles first. Throws a StartFault if one ends instead. */
  async start(until: Promise<unknown>): Promise<boolean> {
    for (const member of this.#members) this.#spawn(member);
    this.options.onChange();
    const ready = this.#members.map(({ config: place }) => untilReady(place.url, Promise.race([until, this.#failed])));
    const all = await Promise.race([Promise.all(ready), this.#failed]);
    this.#isReady = all.every((one) => one);
    return this.#isReady;
  }

  /** Starts one that has ended, and waits until it is ready. Throws a ControlFault. */
  async startOne(name: string): Promise<NodeRecord> {
    const member = this.#members.find(({ config: place }) => place.name === name);
    if (member === undefined) {
      const names = this.#members.map(({ config: place }) => place.name).join(', ');
      throw new ControlError(404, `there is no node "${name}" here, only ${names}`);
    }
    if (this.#isStopping) throw new ControlError(409, 'Carillon is stopping');
    if (member.ended === undefined) throw new ControlError(409, `${name} runs (process ${pidOf(member)})`);
    const { ended } = this.#spawn(member);
    this.options.say(`${name} is started again (process ${pidOf(member)})`);
    this.options.onChange();
    const late = new AbortController();
    const tooLate = delay(START_TIMEOUT_MS, undefined, { signal: late.signal }).catch(() => undefined);
    const isReady = await untilReady(member.config.url, Promise.race([ended, tooLate]));
    late.abort();
    if (isReady) return record(member);
    throw notReady(member);
  }

  /** Asks all to drain and go; kills those that take longer than `graceMs`, or all when `hurry` settles. */
  async stop(graceMs: number, hurry: Promise<void>): Promise<void> {
    this.#isStopping = true;
    await Promise.all(
      this.#members.map(async ({ process, ended }) => {
        if (ended === undefined) await process?.stop(graceMs, hurry);
      }),
    );
  }

  records(): NodeRecord[] {
    return this.#members.map(record);
  }

  /** The processes that run. */
  identities(): ProcessIdentity[] {
    return this.#members.flatMap(({ process, ended }) =>
      process === undefined || ended !== undefined ? [] : process.identity,
    );
  }

  /** Settles with the words of its end when a node stays down. */
  untilOneStaysDown(): Promise<string> {
    return new Promise((resolve) => (this.#onStaysDown = resolve));
  }

  #spawn(member: Member): NodeProcess {
    const { config: place, prefix } = member;
    const started = startNode({
      environment: this.options.environmentOf(place),
      log: place.log,
      prefix,
      command: this.options.command,
    });
    member.process = started;
    member.startedAtMs = performance.now();
    member.ended = undefined;
    void started.ended.then((end) => this.#note(member, end));
    return started;
  }

  #note(member: Member, { how, byItself }: NodeEnd): void {
    member.ended = how;
    if (this.#isStopping) return;
    const { name, log } = member.config;
    if (!this.#isReady) {
      this.#rejectStart(new StartError(`${name} could not start: ${reasonOf(member)}; its log is ${log}`));
      return;
    }
    this.options.onChange();
    if (byItself) {
      this.#startAgain(member);
      return;
    }
    this.options.say(`${name} ended (${how}) and stays down until: npx carillon node start ${name}`);
    this.#onStaysDown(reasonOf(member));
    if (this.identities().length === 0)
      this.options.say('No node is left: nothing is accepted or delivered until one is started');
  }

  /** A crash, or an end that the node chose: its log says why, and the others go on meanwhile. */
  #startAgain(member: Member): void {
    const { name, log } = member.config;
    const pauseMs = member.backoff.next(performance.now() - member.startedAtMs);
    this.options.say(
      `${name} ended by itself (${reasonOf(member)}); it is started again in ${pauseMs / 1000} s; its log is ${log}`,
    );
    setTimeout(() => {
      // Somebody asked for it meanwhile, or for the end of all.
      if (this.#isStopping || member.ended === undefined) return;
      this.#spawn(member);
      this.options.say(`${name} is started again (process ${pidOf(member)})`);
      this.options.onChange();
    }, pauseMs).unref();
  }
}

function record({ config: place, process, ended }: Member): NodeRecord {
  const { name, port, url, log } = place;
  const state = process !== undefined && ended === undefined ? 'running' : 'ended';
  return { name, pid: process?.identity.pid ?? 0, port, url, log, state };
}

function notReady(member: Member): ControlError {
  const { name, log } = member.config;
  const what =
    member.ended === undefined
      ? `runs, but is not ready after ${START_TIMEOUT_MS / 1000} s`
      : `ended: ${reasonOf(member)}`;
  return new ControlError(502, `${name} ${what}; its log is ${log}`);
}

function pidOf({ process }: Member): number {
  return process?.identity.pid ?? 0;
}

function reasonOf({ process, ended }: Member): string {
  return process?.lastWords() ?? ended ?? '';
}
