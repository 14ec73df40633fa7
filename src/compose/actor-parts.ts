// Builds the dependencies of a node's actors.

import type { ActorParts } from '../actor/actor-parts.js';
import { Admission } from '../actor/admission.js';
import { Attempts } from '../actor/attempts.js';
import { FailingEntries } from '../actor/failing-entries.js';
import { Firing } from '../actor/firing.js';
import { SigningKeyCache } from '../actor/signing-keys.js';
import { Semaphore } from '../actor/semaphore.js';
import type { Config } from '../config.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import { getSigningKeys } from '../postgres/tenants/tenants.js';
import { actorSettings } from './actor-settings.js';
import type { NodeCluster } from './cluster.js';
import type { NodePorts } from './ports.js';
import { tierBounds } from './tier-bounds.js';

interface Parts {
  readonly queue: ShardQueue;
  readonly enqueuer: Enqueuer;
  readonly recorder: Recorder;
  readonly cluster: NodeCluster;
}

export function actorParts(ports: NodePorts, { queue, enqueuer, recorder, cluster }: Parts): ActorParts {
  const { config, log, clock, time, hooks } = ports;
  const { wake } = cluster;
  return {
    queue,
    enqueuer,
    recorder,
    attempts: makeAttempts(ports, recorder),
    firing: new Firing({
      recorder,
      queue,
      enqueuer,
      clock,
      wake,
      settings: {
        misfireGraceMs: config.CARILLON_MISFIRE_GRACE_MS,
        maxOccurrences: config.CARILLON_FIRE_BATCH,
        maxWaiting: config.CARILLON_OVERLAP_QUEUE_MAX,
        tiers: tierBounds(config),
        inlineMaxBytes: config.CARILLON_INLINE_MAX_BYTES,
      },
      onFired: ({ published, skipped }) => hooks.onFired(published, skipped),
    }),
    semaphore: new Semaphore(config.CARILLON_CONCURRENCY, { gather: { time, ...gathering(config) } }),
    admission: makeAdmission(ports),
    faulty: new FailingEntries({ recorder, enqueuer, clock, log, mostTries: config.CARILLON_FAULTY_TRIES }),
    clock,
    time,
    log,
    wake,
    isTrusted: (shard) => cluster.locks.isTrusted(shard),
    onFenced: (shard) => {
      hooks.onFenced(shard);
      cluster.membership.fenced(shard);
    },
    settings: actorSettings(config),
    renewEpoch: (shard, refusedEpoch) => cluster.holder.renewEpoch(shard, refusedEpoch),
    onClaim: hooks.onClaim,
    onAttempt: hooks.onAttempt,
  };
}

function makeAttempts(ports: NodePorts, recorder: Recorder): Attempts {
  const { config, identity, database, http, clock, time, random } = ports;
  const keys = new SigningKeyCache(
    async (tenantId) => (await getSigningKeys(database, tenantId)).current,
    config.CARILLON_TOKEN_CACHE_MS,
    time,
  );
  return new Attempts({
    http,
    recorder,
    clock,
    random,
    signingKey: (tenantId) => keys.current(tenantId),
    settings: {
      node: identity,
      shards: config.CARILLON_SHARDS,
      defaultTimeoutMs: config.CARILLON_TIMEOUT_MS,
      keptBytes: config.CARILLON_RESPONSE_KEPT_BYTES,
      keptHeaderBytes: config.CARILLON_RESPONSE_HEADER_KEPT_BYTES,
      answerBytes: config.CARILLON_RESPONSE_MAX_BYTES,
      retriedAnswerBytes: config.CARILLON_CALLBACK_ANSWER_BYTES,
      copiedSourceBytes: config.CARILLON_CALLBACK_SOURCE_BYTES,
      depthMax: config.CARILLON_DEPTH_MAX,
      leastRetryDelayMs: config.CARILLON_RETRY_DELAY_MIN_MS,
    },
  });
}

function makeAdmission({ config, time }: NodePorts): Admission {
  const perHost = config.CARILLON_HOST_CONCURRENCY;
  const limits = {
    capacity: config.CARILLON_CONCURRENCY,
    perTenant: config.CARILLON_TENANT_CONCURRENCY,
    perHost,
    waitingPerHost: Math.max(1, Math.floor(perHost / 4)),
  };
  return new Admission(limits, time);
}

/**
 * Returns how permits are gathered for a claim: it must be worth its script, but permits must not be idle for long, so
 * an eighth of them for a few milliseconds.
 */
function gathering(config: Config): { permits: number; forMs: number } {
  return { permits: Math.ceil(config.CARILLON_CONCURRENCY / 8), forMs: 3 };
}
