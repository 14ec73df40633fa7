/** What keeps nothing of root where we are root: programs run as PostgreSQL's user, on folders that are that user's. */
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { accountFor, asAccount, type Account } from '../stores/postgres-account.js';
import type { Command } from './server-process.js';

/** The account for programs whose files lie in this folder; undefined, with a line that says so, where they keep the user we are. */
export function unprivilegedAccount(what: string, folder: string, say: (line: string) => void): Account | undefined {
  try {
    return accountFor(folder);
  } catch (error) {
    say(`${what} runs as root: ${messageOf(error)}`);
    return undefined;
  }
}

/** The command as that account; as it is, with a line that says so, where the account cannot be given its way to the files. */
export function unprivileged(
  what: string,
  account: Account | undefined,
  command: Command,
  paths: readonly string[],
  say: (line: string) => void,
): Command {
  try {
    return asAccount(account, command, paths);
  } catch (error) {
    say(`${what} runs as root: ${messageOf(error)}`);
    return command;
  }
}

/** Makes the folder and gives it to the account with all that is in it, also what root left there. Links are given, not followed. */
export function giveFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== undefined) giveAll(folder, account);
}

function giveAll(file: string, account: Account): void {
  const { uid, gid } = lstatSync(file);
  if (uid !== account.uid || gid !== account.gid) lchownSync(file, account.uid, account.gid);
  if (!lstatSync(file).isDirectory()) return;
  for (const name of readdirSync(file)) giveAll(path.join(file, name), account);
}

/** Lets the account pass through a folder of ours, in which it reads and lists nothing. */
export function letPass(folder: string, account: Account | undefined): void {
  if (account !== undefined) chmodSync(folder, 0o711);
}

/** Whether a process has another user than the account: one that an earlier version left running as root. */
export function hasOtherUser(pid: number, account: Account | undefined): boolean {
  if (account === undefined) return false;
  try {
    const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return uid !== undefined && Number(uid) !== account.uid;
  } catch {
    return false;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
