// The files of the console as they were built: read into memory once, a few hundred kilobytes, and again after a new
// build.

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PageFile {
  readonly body: Buffer;
  /** The same, compressed; null when compression gains nothing. */
  readonly gzipped: Buffer | null;
  readonly mediaType: string;
  readonly etag: string;
  /** Its name has a hash of its content. */
  readonly isImmutable: boolean;
}

const INDEX = 'index.html';
/** Names below this folder contain a hash of the content. */
const HASHED = 'assets/';
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};
/** Formats that are compressed already. */
const DENSE = new Set(['.png', '.ico', '.woff2']);

const compress = promisify(gzip);

export class ConsolePage {
  readonly #folder: string;
  #builtAtMs = -1;
  #files: Promise<ReadonlyMap<string, PageFile>> = Promise.resolve(new Map<string, PageFile>());

  /** `folder` need not exist. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns a file by its name below the folder, with slashes; '' for the page itself. Returns null for an unknown
   * name, and when nothing was built.
   */
  async find(name: string): Promise<PageFile | null> {
    // A new build has new names for its files, and the page refers to them.
    if (name === '' || this.#builtAtMs < 0) await this.#look();
    return (await this.#files).get(name === '' ? INDEX : name) ?? null;
  }

  async #look(): Promise<void> {
    const builtAtMs = await stat(path.join(this.#folder, INDEX)).then(
      ({ mtimeMs }) => mtimeMs,
      () => -1,
    );
    if (builtAtMs === this.#builtAtMs) return;
    this.#builtAtMs = builtAtMs;
    this.#files = builtAtMs < 0 ? Promise.resolve(new Map<string, PageFile>()) : readAll(this.#folder);
  }
}

/** Reads all files. Only these are served: no path of a request is looked up in the file system. */
async function readAll(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = found
    .filter((entry) => entry.isFile() && path.extname(entry.name) in MEDIA_TYPES)
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
  return new Map(await Promise.all(names.map(async (name) => [name, await readOne(folder, name)] as const)));
}

async function readOne(folder: string, name: string): Promise<PageFile> {
  const body = await readFile(path.join(folder, name));
  const ending = path.extname(name);
  const gzipped = DENSE.has(ending) ? null : await compress(body);
  return {
    body,
    gzipped: gzipped !== null && gzipped.length < body.length ? gzipped : null,
    mediaType: MEDIA_TYPES[ending] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    isImmutable: name.startsWith(HASHED),
  };
}
