/** Finds the folder of Carillon: the same from the sources and from dist/. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the nearest folder above this file that has a package.json. Throws when there is none. */
export function repositoryRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) {
    const above = path.dirname(folder);
    if (above === folder) throw new Error('the folder of Carillon cannot be found');
    folder = above;
  }
  return folder;
}
