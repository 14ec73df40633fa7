// A node as a process: environment in, signals, the only process.exit.

import { startNode, type Node } from './compose.js';
import type { Logger } from 'pino';
import { type Config, readConfig } from './config.js';
import { CarillonError } from './domain/errors.js';
import { heapError } from './compose/heap.js';
import { startError } from './compose/start-error.js';
import { createLogger, UNHANDLED_REJECTION } from './telemetry/logger.js';
import { processTime } from './time/process-time.js';

// Name look-ups block a thread of libuv's pool each: with the default of four, a few dead domains would hold up the
// others.
process.env.UV_THREADPOOL_SIZE ??= '16';

function configOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error;
    createLogger('-', 'info').fatal(error.message);
    process.exit(1);
  }
}

function exitOn(problem: string | null, log: Logger): void {
  if (problem === null) return;
  log.fatal(problem);
  process.exit(1);
}

/** Logs an unhandled rejection: it is a bug, but no reason to end a node and leave its shards to the others. */
function reportUnhandled(log: Logger): void {
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, UNHANDLED_REJECTION);
  });
}

/** In addition to the drain limit there are the answers to send and the connections to close. */
const STOP_MARGIN_MS = 5_000;

function stopOn(signal: NodeJS.Signals, node: Promise<Node>, config: Config, log: Logger): void {
  process.once(signal, () => {
    log.info({ signal }, 'asked to stop');
    processTime.after(config.CARILLON_DRAIN_MS + config.CARILLON_LEAVE_MS + STOP_MARGIN_MS, () => {
      log.error('not stopped within the drain limit');
      process.exit(1);
    });
    node
      .then((started) => started.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'stopped with an error');
          process.exit(1);
        },
      );
  });
}

/** Starts a node from the environment, and ends the process on a signal, or when the node cannot start. */
export function main(): void {
  const config = configOrExit();
  const log = createLogger(config.CARILLON_NODE_NAME, config.CARILLON_LOG_LEVEL);
  exitOn(heapError(config), log);
  reportUnhandled(log);
  const node = startNode(config, log);
  stopOn('SIGTERM', node, config, log);
  stopOn('SIGINT', node, config, log);
  node.catch((error: unknown) => {
    const problem = startError(error, config);
    if (problem === null) log.fatal({ err: error }, 'the node could not start');
    else log.fatal(problem);
    process.exit(1);
  });
}
