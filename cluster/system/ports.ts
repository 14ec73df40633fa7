/** Finds TCP ports on 127.0.0.1 that nobody listens on. */
import { createServer } from 'node:net';

/** A port of 127.0.0.1 that was free a moment ago; the caller must cope with somebody else having taken it since. */
export async function freePort(): Promise<number> {
  return await tryListen(0, '127.0.0.1');
}

/** True if nobody listens on this address. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    await tryListen(port, host);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE') return false;
    throw error;
  }
}

async function tryListen(port: number, host: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error(`no port at ${host}`));
        else resolve(address.port);
      });
    });
  });
}
