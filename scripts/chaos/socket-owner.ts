/** Finds out which process holds the other end of a local TCP connection, on Linux; elsewhere nobody knows. */
import { readdir, readFile, readlink } from 'node:fs/promises';

/** The process among `pids` whose socket has `localPort` and is connected to `remotePort`; null if none is found. */
export async function ownerOfSocket(
  localPort: number,
  remotePort: number,
  pids: readonly number[],
): Promise<number | null> {
  try {
    const inode = inodeOf(await readFile('/proc/net/tcp', 'latin1'), localPort, remotePort);
    if (inode === null) return null;
    for (const pid of pids) if (await holds(pid, `socket:[${inode}]`)) return pid;
  } catch {
    // No /proc here, or the connection is gone already.
  }
  return null;
}

/** Reads the kernel's table of sockets: the second, third and tenth fields are local address, remote address and inode. */
export function inodeOf(table: string, localPort: number, remotePort: number): string | null {
  const ending = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of table.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(ending(localPort)) === true && fields[2]?.endsWith(ending(remotePort)) === true) {
      return fields[9] ?? null;
    }
  }
  return null;
}

async function holds(pid: number, socket: string): Promise<boolean> {
  try {
    const folder = `/proc/${pid}/fd`;
    for (const name of await readdir(folder)) {
      if ((await readlink(`${folder}/${name}`).catch(() => '')) === socket) return true;
    }
  } catch {
    // The process is gone.
  }
  return false;
}
