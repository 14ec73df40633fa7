/** `npm run chaos`: breaks a cluster under load by a seeded plan, judges what was delivered, and says by its exit code whether all held. */
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { listenForStop } from '../cluster/system/stop-signals.js';
import { judgeRun } from './chaos/check/verdict.js';
import { LiveView } from './chaos/live-view.js';
import { readOptions } from './chaos/options.js';
import { reportJson, reportText } from './chaos/report.js';
import { Interrupted, runChaos } from './chaos/run.js';

async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-chaos-'));
  // PostgreSQL's user must be able to pass when we are root.
  chmodSync(folder, 0o711);
  // The client tells of every failed request, of which there are many here; ours are counted.
  console.error = (...words: unknown[]) => appendFileSync(path.join(folder, 'requests.log'), `${words.join(' ')}\n`);
  const signals = listenForStop();
  const view = new LiveView(process.stderr.isTTY && !options.json);
  let keep = true;
  try {
    view.say(`Seed ${options.seed}; logs and records in ${folder}`);
    const { evidence, requests } = await runChaos(options, folder, {
      say: (line) => view.say(line),
      started: (progress) => view.start(progress),
      interrupted: signals.requested,
    });
    view.stop();
    const verdict = judgeRun(evidence, options.only);
    keep = options.keep || !verdict.passed;
    if (keep) writeFileSync(path.join(folder, 'evidence.json'), JSON.stringify(evidence));
    console.log(options.json ? reportJson(verdict, requests, options) : reportText(verdict, requests, options));
    return verdict.passed ? 0 : 1;
  } catch (error) {
    view.stop();
    if (!(error instanceof Interrupted)) throw error;
    say('\nBroken off');
    keep = options.keep;
    return 1;
  } finally {
    signals.release();
    if (keep) say(`Logs and records are kept in ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

let code = 1;
try {
  code = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
process.exit(code);
