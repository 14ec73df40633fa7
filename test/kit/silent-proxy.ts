/** A way to a server that a test can make swallow everything, as a network does: connections stay open, new ones are taken, nothing comes back. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SilentProxy {
  /** The same address by way of the proxy. */
  readonly url: string;
  /** From now on nothing passes, in either direction. */
  fallSilent(): void;
  close(): Promise<void>;
}

export async function silentProxy(target: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => {
        if (!isSilent) to.write(bytes);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = Object.assign(new URL(target), {
    hostname: '127.0.0.1',
    port: String((server.address() as AddressInfo).port),
  }).href;
  return {
    url,
    fallSilent: () => (isSilent = true),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
