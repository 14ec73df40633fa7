/** Writes docs/settings.md out of src/settings.ts: `npm run docs`. A test holds the file against what this gives. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { SETTINGS, type SettingName } from '../src/config.js';
import { formatDuration } from '../src/domain/duration.js';
import { repositoryRoot } from '../cli/connection.js';

type Setting = (typeof SETTINGS)[SettingName];

/** Each part of the document begins at a setting and goes on to the next part's, in the order of src/settings.ts. */
const PARTS: readonly (readonly [first: SettingName, title: string])[] = [
  ['CARILLON_HOME', 'Place and name'],
  ['CARILLON_DATABASE_URL', 'Stores'],
  ['CARILLON_TOKEN', 'Access'],
  ['CARILLON_SHARDS', 'Shards and deliveries'],
  ['CARILLON_IMMEDIATE_MS', 'Tiers and sweeps'],
  ['CARILLON_MISFIRE_GRACE_MS', 'Schedules'],
  ['CARILLON_TIMEOUT_MS', 'Attempts'],
  ['CARILLON_BODY_MAX_BYTES', 'Limits'],
  ['CARILLON_DEDUPLICATION_MS', 'Retention'],
];

const INTRODUCTION = `# Settings

Every setting is an environment variable of a node, read once when the node starts. A node does not start, and logs the reason,
if a value is out of its range, two values contradict each other, or a name that begins with \`CARILLON_\` is not listed here.
Durations are in milliseconds and sizes in bytes: the name ends with the unit. An empty value is the default. \`npm start\` sets the
addresses of the stores that it starts and the credentials that it created, and allows private destinations unless you set otherwise.

\`npm run docs\` writes this file from \`src/settings.ts\`.
`;

/** The whole document, formatted as the formatter would. */
export function settingsDocument(): string {
  const names = Object.keys(SETTINGS) as SettingName[];
  const starts = PARTS.map(([first]) => names.indexOf(first));
  const parts = PARTS.map(([, title], part) => {
    const rows = names.slice(starts[part], starts[part + 1] ?? names.length).map(row);
    return `\n## ${title}\n\n${markdownTable([['Setting', 'Default', 'Values', 'What it is'], ...rows])}`;
  });
  return INTRODUCTION + parts.join('');
}

function row(name: SettingName): string[] {
  const setting: Setting = SETTINGS[name];
  return [`\`${name}\``, defaultOf(name, setting), valuesOf(name, setting), setting.about.replaceAll('|', '\\|')];
}

function defaultOf(name: SettingName, setting: Setting): string {
  if (setting.kind === 'integer') return amount(name, setting.default);
  return setting.default === '' ? '' : `\`${setting.default}\``;
}

function valuesOf(name: SettingName, setting: Setting): string {
  switch (setting.kind) {
    case 'integer':
      return `${amount(name, setting.min)} to ${amount(name, setting.max)}`;
    case 'choice':
      return setting.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'flag':
      return '`true`, `false`';
    case 'secret':
      return 'text, secret';
    case 'text':
      return 'text';
  }
}

/** The number, and in brackets how people say it. */
function amount(name: SettingName, value: number): string {
  const said = name.endsWith('_MS') ? formatDuration(value) : name.endsWith('_BYTES') ? bytes(value) : String(value);
  return said === String(value) || value === 0 ? String(value) : `${value} (${said})`;
}

function bytes(value: number): string {
  if (value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
  return value % 1_024 === 0 ? `${value / 1_024} KiB` : String(value);
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  const [header = [], ...body] = rows;
  return line(header) + rule + body.map(line).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path.join(repositoryRoot(), 'docs', 'settings.md'), settingsDocument());
}
