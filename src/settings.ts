// Every setting: its environment variable, kind, default, bounds and a sentence. `config.ts` reads and judges them.

interface NumberSetting {
  readonly kind: 'integer';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly about: string;
}
interface TextSetting {
  readonly kind: 'text' | 'secret';
  readonly default: string;
  readonly about: string;
}
interface FlagSetting {
  readonly kind: 'flag';
  readonly default: boolean;
  readonly about: string;
}
interface ChoiceSetting {
  readonly kind: 'choice';
  readonly default: string;
  readonly choices: readonly string[];
  readonly about: string;
}
export type Setting = NumberSetting | TextSetting | FlagSetting | ChoiceSetting;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 1_024;
const MIB = 1_024 * KIB;

const integer = (value: number, min: number, max: number, about: string): NumberSetting => ({
  kind: 'integer',
  default: value,
  min,
  max,
  about,
});
const text = (value: string, about: string): TextSetting => ({ kind: 'text', default: value, about });
const secret = (about: string): TextSetting => ({ kind: 'secret', default: '', about });
const flag = (value: boolean, about: string): FlagSetting => ({ kind: 'flag', default: value, about });
const choice = (value: string, choices: readonly string[], about: string): ChoiceSetting => ({
  kind: 'choice',
  default: value,
  choices,
  about,
});

/** The settings, by environment variable. Durations are milliseconds, sizes bytes; the name ends with the unit. */
export const SETTINGS = {
  CARILLON_HOME: text('.carillon', 'Folder of the local stores, credentials, logs and connection.json.'),
  CARILLON_HOST: text('127.0.0.1', 'Address that the API listens on.'),
  CARILLON_PORT: integer(7117, 0, 65_535, 'Port that the API listens on; 0 takes a free one.'),
  CARILLON_CONNECTIONS_MAX: integer(
    10_000,
    10,
    1_000_000,
    'Most open HTTP connections of a node; further ones are closed at once.',
  ),
  CARILLON_HEADERS_TIMEOUT_MS: integer(
    20 * SECOND,
    100,
    MINUTE,
    'How long a connection may take to send the whole headers of a request; for the first request this counts from the opening.',
  ),
  CARILLON_TRUSTED_PROXIES: text(
    '',
    'Load balancers whose X-Forwarded-For names the caller: addresses or networks (10.0.0.0/8), comma-separated.',
  ),
  CARILLON_NODE_NAME: text(
    'node-1',
    'Label of this node in logs and records; its identity is random for each process.',
  ),
  CARILLON_LOG_LEVEL: choice('info', ['debug', 'info', 'warn', 'error', 'silent'], 'Lowest level that is logged.'),

  CARILLON_DATABASE_URL: secret('PostgreSQL 14 or newer, as postgres://user:password@host:port/database.'),
  CARILLON_DATABASE_POOL: integer(
    12,
    3,
    200,
    'Most PostgreSQL connections of a node: a third for reads, a third for accepts, the rest for claims, outcomes and sweeps.',
  ),
  CARILLON_DATABASE_TIMEOUT_MS: integer(10 * SECOND, 100, 5 * MINUTE, 'Longest wait for one statement.'),
  CARILLON_READ_BUDGET_MS: integer(
    2 * SECOND,
    100,
    MINUTE,
    'How long one read of the API may take, at most CARILLON_DATABASE_TIMEOUT_MS; a list then returns what it has, with a cursor.',
  ),
  CARILLON_CANCEL_MAX: integer(
    100_000,
    500,
    10_000_000,
    'Most messages that one DELETE /v2/messages cancels; its answer has "more": true when others may be left.',
  ),
  CARILLON_TENANT_READS_MAX: integer(
    2,
    1,
    60,
    'Most lists of one tenant that a node reads at once; at most all read connections but one.',
  ),
  CARILLON_READ_WAIT_MS: integer(
    SECOND,
    0,
    MINUTE,
    'How long a list waits for other lists of its tenant before it is answered with 429.',
  ),
  CARILLON_REDIS_URL: secret(
    'Redis or Valkey 7 or newer, as redis://:password@host:port/db; a Redis Cluster as redis+cluster://:password@host:port,host:port; behind Sentinels redis+sentinel://:password@host:port,host:port/name-of-primary?db=0. rediss for TLS.',
  ),
  CARILLON_REDIS_PREFIX: text('carillon', 'First part of each Redis key, so that clusters can share a server.'),
  CARILLON_REDIS_TIMEOUT_MS: integer(5 * SECOND, 50, MINUTE, 'Longest wait for one Redis command.'),
  CARILLON_LOCK_REDIS_URLS: secret(
    'Independent lock servers (Redis), comma-separated: three or more. Without them the data Redis is the lock server.',
  ),

  CARILLON_TOKEN: secret(
    'Bearer token of the tenant "default", at least 16 characters. Replaces the token of an earlier start.',
  ),
  CARILLON_ADMIN_TOKEN: secret(
    'Bearer token of the administrator, at least 16 characters. Replaces the token of an earlier start.',
  ),
  CARILLON_CURRENT_SIGNING_KEY: secret(
    'First signing key of the tenant "default"; used only when the tenant is created.',
  ),
  CARILLON_NEXT_SIGNING_KEY: secret('Next signing key of the tenant "default"; used only when the tenant is created.'),
  CARILLON_METRICS_PUBLIC: flag(false, 'Whether /metrics can be read without the token of an administrator.'),
  CARILLON_TOKEN_CACHE_MS: integer(5 * SECOND, 0, 5 * MINUTE, 'How long a node caches a token that it has looked up.'),
  CARILLON_TOKENS_MAX: integer(1_000, 2, 100_000, 'Most tokens of one tenant, and of administrators together.'),
  CARILLON_ADMIN_ORIGINS: text(
    '',
    'Origins of pages, beside the node itself, that may open the admin websocket: https://host:port, comma-separated; "*" for any.',
  ),
  CARILLON_ADMIN_SOCKETS_MAX: integer(2_000, 0, 100_000, 'Most open admin websockets of administrators on a node.'),
  CARILLON_ADMIN_ANONYMOUS_MAX: integer(
    1_000,
    1,
    100_000,
    'Most open admin websockets on a node that sent no token yet; one more closes the oldest of the address with most.',
  ),
  CARILLON_ADMIN_ANONYMOUS_PER_ADDRESS_MAX: integer(
    20,
    1,
    100_000,
    'Most open admin websockets of one address (IPv6: one /64 network) that sent no token yet; one more closes the oldest.',
  ),
  CARILLON_ADMIN_HELLO_MS: integer(5 * SECOND, 100, MINUTE, 'How long an admin websocket may take to send its token.'),
  CARILLON_ADMIN_QUEUE_BYTES: integer(
    MIB,
    16 * KIB,
    64 * MIB,
    'Most bytes that wait for an admin websocket; a socket with more is closed.',
  ),

  CARILLON_SHARDS: integer(
    256,
    1,
    4_096,
    'Number of shards; fixed when the cluster is created, checked at each start.',
  ),
  CARILLON_CONCURRENCY: integer(200, 1, 5_000, 'Most concurrent HTTP deliveries of a node.'),
  CARILLON_HOST_CONCURRENCY: integer(
    100,
    1,
    5_000,
    'Most concurrent deliveries of a node for one tenant to one destination host, all ports together; at most as many as CARILLON_CONCURRENCY leaves free.',
  ),
  CARILLON_TENANT_CONCURRENCY: integer(
    5_000,
    1,
    5_000,
    'Most concurrent deliveries of a node for one tenant, at most 90 % of CARILLON_CONCURRENCY.',
  ),
  CARILLON_FAULTY_TRIES: integer(5, 1, 100, 'Most tries of work that fails before an attempt.'),
  CARILLON_CLAIM_BATCH: integer(50, 1, 1_000, 'Most entries that one claim takes from a shard.'),
  CARILLON_VISIBILITY_MS: integer(
    15 * SECOND,
    500,
    HOUR,
    'How long a claimed entry stays in flight unless its visibility is extended.',
  ),
  CARILLON_TOUCH_MS: integer(
    5 * SECOND,
    100,
    10 * MINUTE,
    'How often the visibility of running deliveries is extended.',
  ),
  CARILLON_DRAIN_MS: integer(5 * SECOND, 0, 5 * MINUTE, 'How long a stopping node waits for deliveries in flight.'),
  CARILLON_IDLE_CLAIM_MS: integer(5 * SECOND, 50, MINUTE, 'Longest sleep of an actor that has nothing due.'),

  CARILLON_LEASE_MS: integer(5 * SECOND, 300, MINUTE, 'How long the lease of a shard is valid unless it is extended.'),
  CARILLON_HEARTBEAT_MS: integer(SECOND, 20, 20 * SECOND, 'How often a node extends its leases and reads the roster.'),
  CARILLON_JOIN_GRACE_MS: integer(
    6 * SECOND,
    0,
    10 * MINUTE,
    'A node gets shards of other nodes only after this uptime, so that a node that comes and goes moves nothing.',
  ),
  CARILLON_HANDOVERS_MAX: integer(32, 1, 4_096, 'Most shards that a node hands over at once.'),
  CARILLON_HANDOVER_MS: integer(
    20,
    0,
    MINUTE,
    'How long a handover waits for deliveries in flight; the former owner finishes those that take longer.',
  ),
  CARILLON_LEAVE_MS: integer(
    SECOND,
    0,
    MINUTE,
    'How long a stopping node still answers after /readyz turned 503, so that the load balancer notices first.',
  ),

  CARILLON_IMMEDIATE_MS: integer(
    15 * MINUTE,
    0,
    2 * HOUR,
    'Work due within this time is enqueued in Redis with its payload.',
  ),
  CARILLON_HORIZON_MS: integer(
    24 * HOUR,
    10 * SECOND,
    7 * DAY,
    'Work due within this time is in Redis; later work is only in PostgreSQL.',
  ),
  CARILLON_PROMOTE_EVERY_MS: integer(
    HOUR,
    200,
    12 * HOUR,
    'How often a shard moves its horizon (sweeps promote and recur).',
  ),
  CARILLON_RESCUE_EVERY_MS: integer(
    MINUTE,
    200,
    HOUR,
    'How often a shard looks for overdue work that Redis does not have.',
  ),
  CARILLON_SWEEP_BATCH: integer(500, 10, 10_000, 'Most rows that a sweep handles in one step.'),

  CARILLON_MISFIRE_GRACE_MS: integer(MINUTE, SECOND, DAY, 'An occurrence later than this is a misfire.'),
  CARILLON_MISFIRE_WINDOW_MS: integer(DAY, SECOND, 31 * DAY, 'Default window of the misfire policy "all".'),
  CARILLON_FIRE_BATCH: integer(100, 1, 1_000, 'Most occurrences of one schedule that one step records.'),
  CARILLON_OVERLAP_QUEUE_MAX: integer(
    100,
    1,
    10_000,
    'Most occurrences of a schedule that wait for the one before (overlap "queue").',
  ),

  CARILLON_TIMEOUT_MS: integer(30 * SECOND, 100, 2 * HOUR, 'Default timeout of a delivery; a message may set its own.'),
  CARILLON_TIMEOUT_MAX_MS: integer(15 * MINUTE, 100, 2 * HOUR, 'Longest timeout that a message may set.'),
  CARILLON_RETRIES: integer(3, 0, 100, 'Default number of retries.'),
  CARILLON_RETRIES_MAX: integer(100, 0, 1_000, 'Most retries that a message may set.'),
  CARILLON_RETRY_DELAY_MIN_MS: integer(
    SECOND,
    0,
    HOUR,
    'Shortest delay before a retry, whatever a message or an answer asks for; otherwise failing callbacks of failing attempts would flood a receiver.',
  ),
  CARILLON_ALLOW_PRIVATE_DESTINATIONS: flag(false, 'Whether private, loopback and link-local addresses may be called.'),

  CARILLON_BODY_MAX_BYTES: integer(MIB, KIB, 64 * MIB, 'Largest message body.'),
  CARILLON_BATCH_MAX_BYTES: integer(32 * MIB, KIB, 256 * MIB, 'Largest batch request.'),
  CARILLON_JSON_MAX_BYTES: integer(MIB, KIB, 16 * MIB, 'Largest JSON body of a request that is not a batch.'),
  CARILLON_JSON_DEPTH_MAX: integer(64, 8, 1_000, 'Deepest nesting of lists and objects in a JSON body.'),
  CARILLON_JSON_VALUES_MAX: integer(
    20_000,
    1_000,
    200_000,
    'Most members and elements of a JSON body, or of each item of a batch.',
  ),
  CARILLON_BODIES_MAX_BYTES: integer(
    128 * MIB,
    64 * KIB,
    8_192 * MIB,
    'Most bytes of request bodies in the memory of a node, an eighth of them for bodies of up to 64 KiB; more are answered with 503.',
  ),
  CARILLON_TENANT_BODIES_MAX_BYTES: integer(
    64 * MIB,
    32 * KIB,
    4_096 * MIB,
    'Most bytes of request bodies of one tenant in the memory of a node; more are answered with 429.',
  ),
  CARILLON_BODY_RATE_MIN_BYTES: integer(
    32 * KIB,
    0,
    MIB,
    'Lowest rate, in bytes a second, of a request body of more than 64 KiB or of unknown length; 0 for any.',
  ),
  CARILLON_BODY_STALL_MS: integer(
    5 * SECOND,
    100,
    MINUTE,
    'How long a request body may be slower than that rate before it is answered with 408.',
  ),
  CARILLON_BATCH_MAX_ITEMS: integer(1_000, 1, 10_000, 'Most messages in one batch.'),
  CARILLON_SCHEDULE_BATCH_MAX_ITEMS: integer(5_000, 1, 20_000, 'Most schedules in one batch.'),
  CARILLON_HEADERS_MAX_BYTES: integer(16 * KIB, KIB, 64 * KIB, 'Most bytes of forwarded headers of one message.'),
  CARILLON_HEADERS_COUNT_MAX: integer(500, 50, 2_000, 'Most headers of one request or batch item, settings included.'),
  CARILLON_URL_MAX_BYTES: integer(4 * KIB, 64, 16 * KIB, 'Longest destination or callback URL.'),
  CARILLON_DELAY_MAX_MS: integer(400 * DAY, MINUTE, 3_650 * DAY, 'Longest time from now to a due time.'),
  CARILLON_DEPTH_MAX: integer(16, 1, 1_000, 'Greatest depth of work that other work created (docs/loops.md).'),
  CARILLON_LABELS_MAX: integer(16, 1, 64, 'Most labels of one message.'),
  CARILLON_INLINE_MAX_BYTES: integer(
    4 * KIB,
    0,
    256 * KIB,
    'Larger bodies are not copied to Redis; they are read from PostgreSQL at delivery.',
  ),
  CARILLON_RESPONSE_KEPT_BYTES: integer(4 * KIB, 0, MIB, 'How much of an answer the record stores.'),
  CARILLON_RESPONSE_MAX_BYTES: integer(MIB, 0, 64 * MIB, 'How much of an answer is read, and sent to a callback.'),
  CARILLON_RESPONSE_HEADER_MAX_BYTES: integer(
    256 * KIB,
    16 * KIB,
    MIB,
    'Most bytes of headers of one answer; an answer with more is a failed attempt.',
  ),
  CARILLON_RESPONSE_HEADER_KEPT_BYTES: integer(
    16 * KIB,
    0,
    MIB,
    'How much of the headers of a failed answer the record stores, in whole headers.',
  ),
  CARILLON_CALLBACK_ANSWER_BYTES: integer(
    16 * KIB,
    0,
    64 * MIB,
    'Most bytes of an answer in a callback that is not the last.',
  ),
  CARILLON_CALLBACK_SOURCE_BYTES: integer(KIB, 0, 64 * KIB, 'Larger messages are not stored in their callbacks.'),
  CARILLON_CALENDAR_COUNT_MAX: integer(100, 1, 100, 'Most times in the answer of a calendar preview.'),

  CARILLON_DEDUPLICATION_MS: integer(
    10 * MINUTE,
    SECOND,
    90 * DAY,
    'How long a deduplication id is stored after the accept.',
  ),
  CARILLON_IDEMPOTENCY_MS: integer(
    90 * DAY,
    MINUTE,
    3_650 * DAY,
    'How long an idempotency key is stored after its message ended.',
  ),
  CARILLON_RETENTION_MS: integer(
    90 * DAY,
    DAY,
    3_650 * DAY,
    'How long records are stored after they ended; whole weeks are dropped.',
  ),
  CARILLON_CLOCK_TOLERANCE_MS: integer(
    5 * SECOND,
    100,
    HOUR,
    'Largest difference of the clocks of Redis, PostgreSQL and a node; beyond it the node logs an error and deletes nothing old.',
  ),
  CARILLON_MAINTENANCE_EVERY_MS: integer(
    HOUR,
    SECOND,
    DAY,
    'How often partitions are created and dropped, and expired keys deleted.',
  ),
  CARILLON_SUMMARIZE_EVERY_MS: integer(
    MINUTE,
    SECOND,
    HOUR,
    'How often new rows are added to the summaries of the indexes by time; lists by time read rows without a summary one by one.',
  ),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
type ValueOf<S extends Setting> = S extends NumberSetting ? number : S extends FlagSetting ? boolean : string;
export type Config = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> };
