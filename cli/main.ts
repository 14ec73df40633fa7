/** The command line client: `npx carillon …` and `npm run carillon -- …`. It talks to the API and to nothing else. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { addAccess } from './access.js';
import { addCron } from './calendar.js';
import { addCluster } from './cluster-command.js';
import { repositoryRoot } from './connection.js';
import { addDlq } from './dlq.js';
import { CliError, processIo, type Io } from './io.js';
import { addPublish } from './publish.js';
import { addRuns } from './runs.js';
import { addSchedule } from './schedule.js';
import { Screen } from './screen.js';
import { runnerFor } from './session.js';
import { addTransfer } from './transfer.js';
import { oneLine } from './text.js';

const HELP_WIDTH = 100;

const EXAMPLES = `
Examples:
  carillon publish https://example.com/hook --body '{"order": 7}' --delay 10m
  carillon schedule create https://example.com/report --id report --cron '0 2 * * *' --time-zone America/New_York
  carillon cron '30 2 * * *' --time-zone America/New_York --from 2026-03-07T00:00:00Z --count 3
  carillon runs --schedule report --from 2026-03-01 --state failed
  carillon dlq retry --all
  carillon import schedules.ndjson
  carillon import --crontab /etc/crontab --user-field --time-zone Europe/Kyiv --destination-template https://runner.example.com/{name}
  carillon nodes

The address and the tokens come from connection.json, which \`npm start\` writes into CARILLON_HOME while it runs.
Exit codes: 0 done, 1 the API refused or cannot be reached, 2 the command line makes no sense.`;

/** Runs one command; `argv` are the arguments alone. Gives the exit code: 0 done, 1 refused or unreachable, 2 usage. */
export async function main(argv: readonly string[], world: Io): Promise<number> {
  const io = new Screen(world);
  try {
    await programFor(io).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has written its own text by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CliError)) throw error;
    io.err(`carillon: ${oneLine(error.message)}\n`);
    return error.exitCode;
  }
}

function programFor(io: Screen): Command {
  const program = new Command('carillon')
    .description('Schedules and messages, delivered to HTTP endpoints.')
    .version(version())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      getOutHelpWidth: () => io.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => io.columns ?? HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .option('--json', "the API's answer as it is")
    .option('--utc', 'times in UTC, with Z (the default)')
    .option('--local', "times in this machine's time zone")
    .option('--home <folder>', 'where connection.json is (default CARILLON_HOME, or .carillon)')
    .option('--url <url>', 'address of the API, together with --token')
    .option('--token <token>', "a tenant's token")
    .option('--admin-token <token>', "the administrator's token")
    .addHelpText('after', EXAMPLES);
  const run = runnerFor(io);
  addPublish(program, run);
  addSchedule(program, run);
  addCron(program, run);
  addRuns(program, run);
  addDlq(program, run);
  addTransfer(program, run);
  addAccess(program, run);
  addCluster(program, run);
  return program;
}

function version(): string {
  const text = readFileSync(path.join(repositoryRoot(), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2), processIo());
}
