/** Keeps the port and the password of a local store in a file only its owner can read, so that a restart uses the same. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writePrivate } from '../system/private-file.js';

export interface StoreAccess {
  /** The port used last; 0 when none was chosen yet. */
  readonly port: number;
  readonly password: string;
}

/** Reads `access.json` of a store's folder, or makes the folder, with `mode`, and new access with a random password. */
export function readAccess(dataDir: string, mode: number): StoreAccess {
  mkdirSync(dataDir, { recursive: true, mode });
  const file = path.join(dataDir, 'access.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const access = { port: 0, password: randomBytes(24).toString('base64url') };
    writeAccess(dataDir, access);
    return access;
  }
  const access = JSON.parse(text) as Partial<StoreAccess>;
  if (typeof access.port !== 'number' || typeof access.password !== 'string') {
    throw new Error(`${file} should hold {"port": number, "password": string}`);
  }
  return { port: access.port, password: access.password };
}

/** Replaces `access.json` in one step. */
export function writeAccess(dataDir: string, access: StoreAccess): void {
  writePrivate(path.join(dataDir, 'access.json'), `${JSON.stringify(access)}\n`);
}
