// Describes each setting header for the OpenAPI document; the *-headers.ts parse them.

import { Type, type TProperties } from '@sinclair/typebox';

const optional = (description: string): ReturnType<typeof Type.Optional> => Type.Optional(Type.String({ description }));

const DELIVERY: TProperties = {
  'Upstash-Method': optional('GET, POST, PUT, PATCH or DELETE; default POST'),
  'Upstash-Forward-*': optional('Sent to the destination under the name that follows the prefix'),
  'Upstash-Header-Forward': optional('true: all headers of the request are forwarded, without a prefix'),
  'Upstash-Delay': optional('Duration such as 10s, 5m, 1d10h30m; at most CARILLON_DELAY_MAX_MS'),
  'Upstash-Retries': optional('Whole number from 0 to CARILLON_RETRIES_MAX; attempts are one more'),
  'Upstash-Retry-Delay': optional(
    'Expression in milliseconds with the variable retried, + - * / ( ) and pow sqrt abs exp floor ceil round min max',
  ),
  'Upstash-Timeout': optional(
    'Duration (a bare number counts seconds) an attempt may take; at most CARILLON_TIMEOUT_MAX_MS',
  ),
  'Upstash-Callback': optional(
    'URL told of each attempt; -Method, -Retries, -Retry-Delay, -Timeout, -Delay, -Forward-* as suffixes',
  ),
  'Upstash-Failure-Callback': optional('URL told once when all attempts have failed; suffixes as above'),
  'Upstash-Label': optional('Comma-separated labels to find the work by'),
  'Upstash-Redact-Fields': optional(
    'Comma-separated body, header, header[Name]: shown as a hash to all but the receiver, callbacks too',
  ),
  'Carillon-Depth': optional(
    'As a delivery carries it, when the request comes of one: what it makes is one deeper, at most CARILLON_DEPTH_MAX',
  ),
};

export const MESSAGE_SETTINGS: object = Type.Object({
  ...DELIVERY,
  'Upstash-Not-Before': optional('Unix time in seconds; wins over the delay; a time that has passed means now'),
  'Upstash-Deduplication-Id': optional('Accepted once within CARILLON_DEDUPLICATION_MS; must not contain ":"'),
  'Upstash-Content-Based-Deduplication': optional(
    'true: deduplicated by destination, body, Content-Type and forwarded headers, unless an id is given',
  ),
  'Carillon-Idempotency-Key': optional(
    'What the work is for: done once for each key, which is kept for CARILLON_IDEMPOTENCY_MS after the end; at most 512 bytes',
  ),
});

export const SCHEDULE_SETTINGS: object = Type.Object({
  'Upstash-Cron': Type.String({
    description:
      'Five fields, six with seconds first, @hourly…, or @every 90s; CRON_TZ=<IANA zone> before it names the zone, UTC otherwise',
  }),
  'Upstash-Schedule-Id': optional(
    'Letters, digits, "-", "_", "."; an existing schedule is replaced. Without it the id is random, or made from the deduplication id or content',
  ),
  ...DELIVERY,
  'Carillon-Time-Zone': optional('IANA zone of the expression'),
  'Carillon-Misfire': optional(
    'skip, once (default), all or "all; window=6h": what happens to occurrences nobody could fire in time',
  ),
  'Carillon-Overlap': optional('allow (default), skip or queue: what happens while the occurrence before is not done'),
  'Carillon-Window': optional('Duration up to 1d: occurrences are spread over it, at a fixed place for each schedule'),
  'Carillon-Start': optional('ISO 8601 or Unix seconds: no occurrence before'),
  'Carillon-End': optional('ISO 8601 or Unix seconds: no occurrence after'),
  'Carillon-Anchor': optional(
    'ISO 8601 or Unix seconds: an @every fires at this time plus whole periods; default: the creation, which edits leave alone',
  ),
  'Carillon-Idempotency-Key': optional('Template such as invoice:{yyyy-MM}:acme or {occurrence}'),
  'Carillon-Keep': optional(
    'Of body, headers, callback, failure-callback, redact: what stays as the existing schedule has it, whatever this request has',
  ),
});
