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
  CARILLON_HOST: text('127.0.0.1', 'Address the API listens on.'),
  CARILLON_PORT: integer(7117, 0, 65_535, 'Port the API listens on; 0 takes a free one.'),
  CARILLON_CONNECTIONS_MAX: integer(
    10_000,
    10,
    1_000_000,
    'Most HTTP connections a node has open; further ones are closed at once.',
  ),
  CARILLON_HEADERS_TIMEOUT_MS: integer(
    20 * SECOND,
    100,
    MINUTE,
    'How long a connection may take to bring the whole headers of a request, its first one from when it was opened.',
  ),
  CARILLON_TRUSTED_PROXIES: text(
    '',
    'Load balancers whose X-Forwarded-For names the caller: addresses or networks (10.0.0.0/8), comma-separated.',
  ),
  CARILLON_NODE_NAME: text(
    'node-1',
    'Label of this node in logs and records; its identity is random for each process.',
  ),
  CARILLON_LOG_LEVEL: choice(
    'info',
    ['debug', 'info', 'warn', 'error', 'silent'],
    'Least severe level that is logged.',
  ),

  CARILLON_DATABASE_URL: secret('PostgreSQL 14 or newer, as postgres://user:password@host:port/database.'),
  CARILLON_DATABASE_POOL: integer(
    12,
    3,
    200,
    'Most PostgreSQL connections a node holds: a third for reads, a third for accepts, the rest for claims, outcomes and sweeps.',
  ),
  CARILLON_DATABASE_TIMEOUT_MS: integer(10 * SECOND, 100, 5 * MINUTE, 'Longest wait for one statement.'),
  CARILLON_READ_BUDGET_MS: integer(
    2 * SECOND,
    100,
    MINUTE,
    'How long one read of the API may take, at most CARILLON_DATABASE_TIMEOUT_MS; a list ends then where it is, with a cursor.',
  ),
  CARILLON_CANCEL_MAX: integer(
    100_000,
    500,
    10_000_000,
    'Most messages that one DELETE /v2/messages cancels; its answer says "more" when others may be left.',
  ),
  CARILLON_TENANT_READS_MAX: integer(
    2,
    1,
    60,
    'Most lists of one tenant that a node reads at once; never more than all its read connections but one.',
  ),
  CARILLON_READ_WAIT_MS: integer(
    SECOND,
    0,
    MINUTE,
    'How long a list waits while as many are being read as may be, before it is answered with 429.',
  ),
  CARILLON_REDIS_URL: secret(
    'Redis or Valkey 7 or newer, as redis://:password@host:port/db; a Redis Cluster as redis+cluster://:password@host:port,host:port; behind Sentinels redis+sentinel://:password@host:port,host:port/name-of-primary?db=0. rediss for TLS.',
  ),
  CARILLON_REDIS_PREFIX: text('carillon', 'First part of each Redis key, so that clusters can share a server.'),
  CARILLON_REDIS_TIMEOUT_MS: integer(5 * SECOND, 50, MINUTE, 'Longest wait for one Redis command.'),
  CARILLON_LOCK_REDIS_URLS: secret(
    'Independent lock servers (Redis), comma-separated: three and more; without any the data Redis is the one lock server.',
  ),

  CARILLON_TOKEN: secret(
    'Bearer token of the tenant "default", made sure of at boot; at least 16 characters. Replaces the one of an earlier start.',
  ),
  CARILLON_ADMIN_TOKEN: secret(
    'Bearer token of the administrator, made sure of at boot; at least 16 characters. Replaces the one of an earlier start.',
  ),
  CARILLON_CURRENT_SIGNING_KEY: secret(
    'First signing key of the tenant "default"; used only when the tenant is created.',
  ),
  CARILLON_NEXT_SIGNING_KEY: secret('Next signing key of the tenant "default"; used only when the tenant is created.'),
  CARILLON_METRICS_PUBLIC: flag(false, 'Whether /metrics can be read without the token of an administrator.'),
  CARILLON_TOKEN_CACHE_MS: integer(5 * SECOND, 0, 5 * MINUTE, 'How long a node trusts a token it has looked up.'),
  CARILLON_TOKENS_MAX: integer(1_000, 2, 100_000, 'Most tokens of one tenant, and of administrators together.'),
  CARILLON_ADMIN_ORIGINS: text(
    '',
    'Origins of pages, beside the node itself, that may open the admin websocket: https://host:port, comma-separated; "*" for any.',
  ),
  CARILLON_ADMIN_SOCKETS_MAX: integer(2_000, 0, 100_000, 'Most admin websockets of administrators a node has open.'),
  CARILLON_ADMIN_ANONYMOUS_MAX: integer(
    1_000,
    1,
    100_000,
    'Most admin websockets without a token so far that a node has open; one more closes the oldest of the address with most.',
  ),
  CARILLON_ADMIN_ANONYMOUS_PER_ADDRESS_MAX: integer(
    20,
    1,
    100_000,
    'Most admin websockets without a token so far of one address (IPv6: one /64 network); one more closes the oldest of them.',
  ),
  CARILLON_ADMIN_HELLO_MS: integer(5 * SECOND, 100, MINUTE, 'How long an admin websocket may take to say its token.'),
  CARILLON_ADMIN_QUEUE_BYTES: integer(
    MIB,
    16 * KIB,
    64 * MIB,
    'Most bytes that wait for an admin websocket; one that reads more slowly is closed.',
  ),

  CARILLON_SHARDS: integer(256, 1, 4_096, 'Number of shards; fixed when the cluster is created, checked at each boot.'),
  CARILLON_CONCURRENCY: integer(200, 1, 5_000, 'Most HTTP deliveries a node has under way.'),
  CARILLON_HOST_CONCURRENCY: integer(
    100,
    1,
    5_000,
    'Most deliveries a node has under way for one tenant to one destination host, whatever the port; never more than CARILLON_CONCURRENCY leaves free.',
  ),
  CARILLON_TENANT_CONCURRENCY: integer(5_000, 1, 5_000, 'Most deliveries at once for one tenant, at most 90 % of all.'),
  CARILLON_FAULTY_TRIES: integer(5, 1, 100, 'Tries of work that fails before an attempt, until it is given up.'),
  CARILLON_CLAIM_BATCH: integer(50, 1, 1_000, 'Most entries that one claim takes from a shard.'),
  CARILLON_VISIBILITY_MS: integer(
    15 * SECOND,
    500,
    HOUR,
    'How long a claimed entry stays with its claimer unless touched.',
  ),
  CARILLON_TOUCH_MS: integer(
    5 * SECOND,
    100,
    10 * MINUTE,
    'How often the visibility of running deliveries is prolonged.',
  ),
  CARILLON_DRAIN_MS: integer(5 * SECOND, 0, 5 * MINUTE, 'How long a stopping node waits for deliveries under way.'),
  CARILLON_IDLE_CLAIM_MS: integer(5 * SECOND, 50, MINUTE, 'Longest sleep of an actor with nothing due.'),

  CARILLON_LEASE_MS: integer(5 * SECOND, 300, MINUTE, 'How long the lease of a shard holds unless it is extended.'),
  CARILLON_HEARTBEAT_MS: integer(
    SECOND,
    20,
    20 * SECOND,
    'How often a node extends its leases and looks who else is there.',
  ),
  CARILLON_JOIN_GRACE_MS: integer(
    6 * SECOND,
    0,
    10 * MINUTE,
    'A node is given shards that others have only after this much uptime, so that one that comes and goes moves nothing.',
  ),
  CARILLON_HANDOVERS_MAX: integer(32, 1, 4_096, 'Most shards that a node gives away at once.'),
  CARILLON_HANDOVER_MS: integer(
    20,
    0,
    MINUTE,
    'How long a shard that is given away waits for deliveries under way; what takes longer is finished by its former owner.',
  ),
  CARILLON_LEAVE_MS: integer(
    SECOND,
    0,
    MINUTE,
    'How long a stopping node goes on answering after /readyz turned red, so that a load balancer sees it first.',
  ),

  CARILLON_IMMEDIATE_MS: integer(15 * MINUTE, 0, 2 * HOUR, 'Work due within this is queued with its payload.'),
  CARILLON_HORIZON_MS: integer(
    24 * HOUR,
    10 * SECOND,
    7 * DAY,
    'Work due within this is in Redis; beyond it only in PostgreSQL.',
  ),
  CARILLON_PROMOTE_EVERY_MS: integer(
    HOUR,
    200,
    12 * HOUR,
    'How often a shard moves its horizon (sweeps promote and recur).',
  ),
  CARILLON_RESCUE_EVERY_MS: integer(MINUTE, 200, HOUR, 'How often a shard looks for overdue work Redis does not know.'),
  CARILLON_SWEEP_BATCH: integer(500, 10, 10_000, 'Most rows a sweep handles in one step.'),

  CARILLON_MISFIRE_GRACE_MS: integer(MINUTE, SECOND, DAY, 'An occurrence later than this is a misfire.'),
  CARILLON_MISFIRE_WINDOW_MS: integer(DAY, SECOND, 31 * DAY, 'Default window of the misfire policy "all".'),
  CARILLON_FIRE_BATCH: integer(100, 1, 1_000, 'Most occurrences of one schedule that one step records.'),
  CARILLON_OVERLAP_QUEUE_MAX: integer(
    100,
    1,
    10_000,
    'Most occurrences that wait for the one before (overlap "queue").',
  ),

  CARILLON_TIMEOUT_MS: integer(
    30 * SECOND,
    100,
    2 * HOUR,
    'Default time a delivery may take; a message may set its own.',
  ),
  CARILLON_TIMEOUT_MAX_MS: integer(15 * MINUTE, 100, 2 * HOUR, 'Longest timeout that a message may ask for.'),
  CARILLON_RETRIES: integer(3, 0, 100, 'Default number of retries.'),
  CARILLON_RETRIES_MAX: integer(100, 0, 1_000, 'Most retries that a message may ask for.'),
  CARILLON_RETRY_DELAY_MIN_MS: integer(
    SECOND,
    0,
    HOUR,
    'Nothing is tried again sooner, whatever a message or an answer says: a failing callback of each of many failing attempts would be a flood.',
  ),
  CARILLON_ALLOW_PRIVATE_DESTINATIONS: flag(false, 'Whether private, loopback and link-local addresses may be called.'),

  CARILLON_BODY_MAX_BYTES: integer(MIB, KIB, 64 * MIB, 'Largest message body.'),
  CARILLON_BATCH_MAX_BYTES: integer(32 * MIB, KIB, 256 * MIB, 'Largest batch request.'),
  CARILLON_JSON_MAX_BYTES: integer(MIB, KIB, 16 * MIB, 'Largest JSON body of a request that is no batch.'),
  CARILLON_JSON_DEPTH_MAX: integer(64, 8, 1_000, 'How deep lists and objects of a JSON body may lie in each other.'),
  CARILLON_JSON_VALUES_MAX: integer(
    20_000,
    1_000,
    200_000,
    'Most members and elements of a JSON body; in a batch, of each item.',
  ),
  CARILLON_BODIES_MAX_BYTES: integer(
    128 * MIB,
    64 * KIB,
    8_192 * MIB,
    'Most bytes of request bodies that a node holds at once, an eighth of them for bodies of up to 64 KiB; more are answered with 503.',
  ),
  CARILLON_TENANT_BODIES_MAX_BYTES: integer(
    64 * MIB,
    32 * KIB,
    4_096 * MIB,
    'Most bytes of request bodies of one tenant that a node holds at once; more are answered with 429.',
  ),
  CARILLON_BODY_RATE_MIN_BYTES: integer(
    32 * KIB,
    0,
    MIB,
    'Least bytes a second at which a request body of more than 64 KiB, or of unknown length, must arrive; 0 for any.',
  ),
  CARILLON_BODY_STALL_MS: integer(
    5 * SECOND,
    100,
    MINUTE,
    'How long a request body may arrive more slowly than that; then it is answered with 408.',
  ),
  CARILLON_BATCH_MAX_ITEMS: integer(1_000, 1, 10_000, 'Most messages in one batch.'),
  CARILLON_SCHEDULE_BATCH_MAX_ITEMS: integer(5_000, 1, 20_000, 'Most schedules in one batch of them.'),
  CARILLON_HEADERS_MAX_BYTES: integer(16 * KIB, KIB, 64 * KIB, 'Most bytes of forwarded headers of one message.'),
  CARILLON_HEADERS_COUNT_MAX: integer(500, 50, 2_000, 'Most headers of one request or batch item, settings included.'),
  CARILLON_URL_MAX_BYTES: integer(4 * KIB, 64, 16 * KIB, 'Longest destination or callback URL.'),
  CARILLON_DELAY_MAX_MS: integer(400 * DAY, MINUTE, 3_650 * DAY, 'Furthest due time.'),
  CARILLON_DEPTH_MAX: integer(16, 1, 1_000, 'How deep work may lie that other work made (docs/loops.md).'),
  CARILLON_LABELS_MAX: integer(16, 1, 64, 'Most labels of one message.'),
  CARILLON_INLINE_MAX_BYTES: integer(
    4 * KIB,
    0,
    256 * KIB,
    'Larger bodies are not copied to Redis but read at dispatch.',
  ),
  CARILLON_RESPONSE_KEPT_BYTES: integer(4 * KIB, 0, MIB, 'How much of the answer the record keeps.'),
  CARILLON_RESPONSE_MAX_BYTES: integer(MIB, 0, 64 * MIB, 'How much of an answer is read (and given to a callback).'),
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
    'How much of the headers of a failed answer the record keeps, in whole headers.',
  ),
  CARILLON_CALLBACK_ANSWER_BYTES: integer(16 * KIB, 0, 64 * MIB, 'Answer bytes in a callback that is not the last.'),
  CARILLON_CALLBACK_SOURCE_BYTES: integer(KIB, 0, 64 * KIB, 'Larger messages are not copied into their callbacks.'),
  CARILLON_CALENDAR_COUNT_MAX: integer(100, 1, 100, 'Most times a calendar preview answers with.'),

  CARILLON_DEDUPLICATION_MS: integer(
    10 * MINUTE,
    SECOND,
    90 * DAY,
    'How long a deduplication id is remembered after the accept.',
  ),
  CARILLON_IDEMPOTENCY_MS: integer(
    90 * DAY,
    MINUTE,
    3_650 * DAY,
    'How long an idempotency key is kept after its message ended.',
  ),
  CARILLON_RETENTION_MS: integer(
    90 * DAY,
    DAY,
    3_650 * DAY,
    'How long records are kept after they ended; whole weeks are dropped.',
  ),
  CARILLON_CLOCK_TOLERANCE_MS: integer(
    5 * SECOND,
    100,
    HOUR,
    'By how much the clocks of Redis, PostgreSQL and a node may differ; beyond it the node says so and deletes nothing old.',
  ),
  CARILLON_MAINTENANCE_EVERY_MS: integer(
    HOUR,
    SECOND,
    DAY,
    'How often partitions are made and dropped, and keys expired.',
  ),
  CARILLON_SUMMARIZE_EVERY_MS: integer(
    MINUTE,
    SECOND,
    HOUR,
    'How often the indexes by time are summarized for what was written since; until then, lists by time read that part of PostgreSQL.',
  ),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
type ValueOf<S extends Setting> = S extends NumberSetting ? number : S extends FlagSetting ? boolean : string;
export type Config = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> };
