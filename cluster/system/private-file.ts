/** Writes files that hold secrets: mode 600 from the first byte, and either the old content or the new one, never half. */
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/** Replaces `file` with `text` in one step; only the owner can read it. */
export function writePrivate(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`;
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
}
