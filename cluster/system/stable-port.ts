/** Ports for servers that are stopped and started again at the same address. */
import { isFree } from './ports.js';

/** Below the range from which systems take the local ports of outgoing connections: while a server is down nobody gets its port. */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** A port of 127.0.0.1 that is free, and that no outgoing connection will be given. */
export async function stablePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) return port;
  }
}
