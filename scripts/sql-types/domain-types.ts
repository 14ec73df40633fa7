// What columns mean beyond what PostgreSQL knows of their types.

/** Types of ours that statements.ts may name, and where it has them from. */
export const IMPORTS: Readonly<Record<string, string>> = {
  DeliveryOptions: './messages/delivery-options.js',
  HeaderMap: '../domain/message.js',
  MessageKind: '../domain/message.js',
  MessageState: '../domain/message.js',
  MisfirePolicy: '../domain/misfire.js',
  OverlapPolicy: '../domain/overlap.js',
  ScheduleChange: '../domain/explain-facts.js',
  ScheduleState: '../domain/schedule.js',
};

export const COLUMN_TYPES: Readonly<Record<string, string>> = {
  'attempts.headers': 'HeaderMap',
  'messages.headers': 'HeaderMap',
  'messages.kind': 'MessageKind',
  'messages.last_headers': 'HeaderMap',
  'messages.options': 'DeliveryOptions',
  'messages.overlap': "Exclude<OverlapPolicy, 'allow'>",
  'messages.state': 'MessageState',
  'schedule_changes.change': "ScheduleChange['change']",
  'schedule_changes.detail': '{ cron?: string; timeZone?: string | null }',
  'schedules.headers': 'HeaderMap',
  'schedules.misfire': 'MisfirePolicy',
  'schedules.options': 'DeliveryOptions',
  'schedules.overlap': 'OverlapPolicy',
  'schedules.state': 'ScheduleState',
  'tokens.role': "'tenant' | 'admin'",
  'tokens.source': "'created' | 'environment'",
};
