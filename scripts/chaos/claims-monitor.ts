/**
 * Listens to Redis's own log of commands (MONITOR) for claims that were carried out: a claim writes its tokens, whose first part is the
 * epoch, and what a script writes is logged in the order in which it happened.
 */
import { connect, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { Claim } from './evidence.js';

const RECONNECT_MS = 100;
/** `1700000000.123456 [0 lua] "HSET" "carillon:{12}:task" "<id>" "<epoch>.<claim>.<n>" ...` */
const CLAIM = /^\+?(\d+)\.(\d{3})\d* \[\d+ lua\] "HSET" "[^"]*\{(\d+)\}:task" "[^"]*" "(\d+)\.\d+\.\d+"/i;

/** Reads one line of MONITOR; null unless it is a claim. */
export function readClaim(line: string): Claim | null {
  // Most lines are something else, and this is quick.
  if (!line.includes('}:task"')) return null;
  const match = CLAIM.exec(line);
  if (match === null) return null;
  return { atMs: Number(`${match[1]}${match[2]}`), shard: Number(match[3]), epoch: Number(match[4]) };
}

export class ClaimsMonitor {
  readonly claims: Claim[] = [];
  readonly #url: URL;
  #socket: Socket | null = null;
  #stopped = false;

  /** Begins to listen, and goes on whenever the server is back. */
  constructor(redisUrl: string) {
    this.#url = new URL(redisUrl);
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#socket?.destroy();
  }

  #connect(): void {
    const socket = connect({ port: Number(this.#url.port), host: this.#url.hostname });
    this.#socket = socket;
    const decoder = new StringDecoder('latin1');
    let rest = '';
    socket.on('connect', () => socket.write(`AUTH ${decodeURIComponent(this.#url.password)}\r\nMONITOR\r\n`));
    socket.on('data', (bytes) => {
      const lines = (rest + decoder.write(bytes)).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const claim = readClaim(line);
        if (claim !== null) this.claims.push(claim);
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!this.#stopped) setTimeout(() => this.#connect(), RECONNECT_MS);
    });
  }
}
