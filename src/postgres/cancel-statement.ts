// Cancels a statement that runs in PostgreSQL, with the protocol's own message on a connection of its own. Unlike
// pg_cancel_backend it needs no session and no free connection, and it goes through PgBouncer, which knows by the key
// which of its connections is meant.

import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { ProcessTime } from '../domain/clock.js';

/** How long the server may take to accept the message; it closes the connection when it did. */
const CANCEL_TIMEOUT_MS = 1_000;

/** The parts of pg's connection and client that its types leave out. */
interface CancelConnection extends EventEmitter {
  /** Another one after the step to TLS. */
  readonly stream: Duplex;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}
interface Backend {
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation?: string;
  /** What the server told when the client connected. */
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/**
 * Asks the server to cancel what runs on the client's connection; resolves when the server has taken notice, or cannot
 * be reached. The message may arrive after the statement ended, so the connection must not be used for another one.
 */
export function cancelStatement(client: pg.Client, time: ProcessTime): Promise<void> {
  const { host, port, ssl, sslNegotiation, processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return Promise.resolve();
  const connection = new pg.Connection({ ssl, sslNegotiation } as pg.ClientConfig) as unknown as CancelConnection;
  const isTls = ssl !== false && ssl !== undefined && ssl !== null;
  return new Promise((resolve) => {
    const end = (): void => {
      cancelLimit();
      connection.stream.destroy();
      resolve();
    };
    const cancelLimit = time.after(CANCEL_TIMEOUT_MS, end);
    connection.on('error', end);
    connection.once('end', end);
    connection.once('connect', () => {
      if (!isTls) connection.cancel(processID, secretKey);
      else if (sslNegotiation !== 'direct') connection.requestSsl();
    });
    connection.once('sslconnect', () => connection.cancel(processID, secretKey));
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
