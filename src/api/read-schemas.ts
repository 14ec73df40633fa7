// Schemas of the parameters and answers of the reading and bulk routes, for the OpenAPI document.

import { Type, type TProperties } from '@sinclair/typebox';

const several = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description });
const time = (description: string) => Type.String({ description });

const MESSAGE_FILTER_PARAMETERS = {
  url: several('Whole destinations. Repeatable; any of them.'),
  host: several('Hosts of destinations, with or without the port. Repeatable or separated by commas.'),
  path: several('Paths of destinations, as in the URL, without the query. Repeatable.'),
  label: several('Labels. Repeatable or separated by commas.'),
  scheduleId: several('Schedules. Repeatable or separated by commas.'),
  callerIp: several('Addresses that messages came from. Repeatable or separated by commas.'),
  callerIP: several('Another spelling of callerIp.'),
  queueName: several('Queues are not implemented yet: answered with 501.'),
  topicName: several('URL groups are not implemented yet: answered with 501.'),
  flowControlKey: several('Flow control is not implemented yet: answered with 501.'),
};

const dates = (what: string) => ({
  fromDate: time(`Earliest ${what}, inclusive: Unix milliseconds or ISO 8601.`),
  toDate: time(`Latest ${what}, inclusive: Unix milliseconds or ISO 8601.`),
});

const cursor = Type.String({ description: 'The cursor of the page before; absent in the answer of the last page.' });
const count = (description: string, max: number, defaultCount?: number) =>
  Type.Integer({
    minimum: 1,
    maximum: max,
    description,
    ...(defaultCount === undefined ? {} : { default: defaultCount }),
  });

/** Every parameter is optional; unlisted ones are refused. */
const query = <Properties extends TProperties>(properties: Properties) =>
  Type.Partial(Type.Object(properties), { additionalProperties: false });

export const cancelParameters = query({
  messageIds: several('Messages to cancel. Repeatable, or a list in a JSON body.'),
  ...MESSAGE_FILTER_PARAMETERS,
  ...dates('creation'),
  count: count('Most messages to cancel; all that match when absent.', 500),
});

const DLQ_PARAMETERS = {
  dlqIds: several('Dead letters. Repeatable or separated by commas, or a list in a JSON body.'),
  messageId: several('Messages. Repeatable or separated by commas.'),
  responseStatus: several('Status of the last answer, 0 for none. Repeatable or separated by commas.'),
  ...MESSAGE_FILTER_PARAMETERS,
  ...dates('time of death'),
  cursor,
};

export const dlqListParameters = query({
  ...DLQ_PARAMETERS,
  count: count('Most messages on a page; a larger number counts as 100.', 100, 100),
});
export const dlqBulkParameters = query({
  ...DLQ_PARAMETERS,
  count: count('Most messages to handle in this call.', 500, 100),
});

export const eventParameters = query({
  messageIds: several('Messages. Repeatable or separated by commas; at most 100.'),
  messageId: several('Another spelling of messageIds.'),
  state: several(
    'CREATED, ACTIVE, ERROR, RETRY, DELIVERED, FAILED, CANCELED, or IN_PROGRESS (ACTIVE, RETRY or ERROR).',
  ),
  ...MESSAGE_FILTER_PARAMETERS,
  ...dates('event'),
  order: Type.Union([Type.Literal('latestFirst'), Type.Literal('earliestFirst')], { default: 'latestFirst' }),
  cursor,
  count: count('Most events on a page; a larger number counts as 1000.', 1000, 100),
});

const RUN_PARAMETERS = {
  schedule: several('Schedules. Repeatable or separated by commas.'),
  key: several('Idempotency keys. Repeatable. A retry from the dead letters comes with what it was retried from.'),
  label: several('Labels. Repeatable or separated by commas.'),
  state: several('pending, delivered, failed, canceled, skipped. Repeatable or separated by commas.'),
  url: several('Whole destinations, as they were given. Repeatable.'),
  host: several('Hosts of destinations, with or without the port. Repeatable or separated by commas.'),
  from: time('Earliest due time, inclusive: ISO 8601, a date (from its start, UTC), or Unix milliseconds.'),
  to: time('Latest due time, inclusive: ISO 8601, a date (to its end, UTC), or Unix milliseconds.'),
  occurrence: time('One nominal time of the schedule, exactly, whenever it was due. Takes one schedule.'),
};

export const runListParameters = query({
  ...RUN_PARAMETERS,
  count: count('Most runs on a page; a larger number counts as 1000.', 1000, 100),
  cursor,
});
export const runCountParameters = query(RUN_PARAMETERS);

export const scheduleListParameters = query({
  state: several('active, paused, ended. Repeatable or separated by commas.'),
  label: several('Labels, any of them. Repeatable or separated by commas.'),
  host: several('Hosts of destinations, with or without the port. Repeatable or separated by commas.'),
  destination: several('Whole destinations. Repeatable.'),
  idPrefix: Type.String({ description: 'How the id begins.' }),
  search: Type.String({ description: 'A text that the id or the destination contains, whatever the case.' }),
  count: count('Most schedules on a page; a larger number counts as 1000.', 1000, 100),
  cursor,
});

export const exportParameters = query({
  count: count('Most items on a page; a larger number counts as 1000.', 1000, 500),
  cursor,
});

export const idParameter = (name: string, description: string) => Type.Object({ [name]: Type.String({ description }) });

export const eventObject = Type.Object(
  {
    time: Type.Integer({ description: 'Unix milliseconds.' }),
    state: Type.String(),
    messageId: Type.String(),
    url: Type.String(),
  },
  { additionalProperties: true },
);
