/** Makes the tokens and signing keys of a local cluster once and keeps them, so that a restart answers to the same ones. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../src/config.js';
import { writePrivate } from '../system/private-file.js';

export interface Credentials {
  readonly token: string;
  readonly adminToken: string;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
}

const NAMES = ['token', 'adminToken', 'currentSigningKey', 'nextSigningKey'] as const;

/** Reads `credentials.json` of the data folder, or makes it (mode 600). Throws if the file is not what it should be. */
export function localCredentials(home: string): Credentials {
  const file = path.join(home, 'credentials.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const made = {
      token: randomText('tok'),
      adminToken: randomText('adm'),
      currentSigningKey: randomText('sig'),
      nextSigningKey: randomText('sig'),
    };
    writePrivate(file, `${JSON.stringify(made, null, 2)}\n`);
    return made;
  }
  const read = JSON.parse(text) as Partial<Record<string, unknown>>;
  const missing = NAMES.filter((name) => typeof read[name] !== 'string');
  if (missing.length > 0)
    throw new Error(`${file} lacks ${missing.join(', ')}: add them, or delete it to get new ones`);
  return read as unknown as Credentials;
}

/** Those that the settings give. */
export function configuredCredentials(config: Config): Partial<Credentials> {
  const given = {
    token: config.CARILLON_TOKEN,
    adminToken: config.CARILLON_ADMIN_TOKEN,
    currentSigningKey: config.CARILLON_CURRENT_SIGNING_KEY,
    nextSigningKey: config.CARILLON_NEXT_SIGNING_KEY,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

/** 192 random bits; letters and digits only, so that a double click selects the whole of it. */
function randomText(prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('hex')}`;
}
