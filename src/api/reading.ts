// Reads for routes: on the connections for reads, within the budget, and only while the client waits for the answer.

import type { FastifyRequest } from 'fastify';
import type { BoundedReads } from '../postgres/reads.js';
import type { ApiServices } from './services.js';

export type ReadingRequest = Pick<FastifyRequest, 'raw' | 'tenantId'>;

/** Runs `work` with a signal that is aborted when the client disconnects before it is done. */
export async function whileClientWaits<Result>(
  { raw }: Pick<FastifyRequest, 'raw'>,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const { socket } = raw;
  socket.once('close', leave);
  if (socket.destroyed) leave();
  try {
    return await work(left.signal);
  } finally {
    socket.off('close', leave);
  }
}

export interface ListReading {
  /** The tenant of the list; defaults to the caller's. */
  readonly tenantId?: number;
  /** The parameters that narrow the list, for the error when reading takes too long. */
  readonly narrowBy: string;
}

/** Reads a list in the tenant's turn: see ReadPool.list. */
export async function readList<Result>(
  { reads }: Pick<ApiServices, 'reads'>,
  request: ReadingRequest,
  { tenantId = request.tenantId, narrowBy }: ListReading,
  work: (reads: BoundedReads) => Promise<Result>,
): Promise<Result> {
  return await whileClientWaits(request, (signal) => reads.list({ tenantId, signal, narrowBy }, work));
}

/** Reads one row by its key. */
export async function readOne<Result>(
  { reads }: Pick<ApiServices, 'reads'>,
  request: ReadingRequest,
  work: (reads: BoundedReads) => Promise<Result>,
): Promise<Result> {
  const { tenantId } = request;
  return await whileClientWaits(request, (signal) => reads.one({ tenantId, signal, narrowBy: '' }, work));
}
