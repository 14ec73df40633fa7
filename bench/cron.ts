// Prints next times per second: Carillon's search beside cron-parser with a reused object, in New York. Run with any TypeScript runner.
import { CronExpressionParser } from 'cron-parser';
import { nextFire } from '../src/domain/cron/next-fire.js';
import { parseCron } from '../src/domain/cron/parse.js';

const ZONE = 'America/New_York';
const FROM_MS = Date.UTC(2026, 0, 1);
const MEASURE_MS = 1000;

/** Calls `step` for about a second and returns calls per second. */
function rate(step: () => void): number {
  const startMs = performance.now();
  let calls = 0;
  while (performance.now() - startMs < MEASURE_MS) {
    for (let i = 0; i < 50; i++) step();
    calls += 50;
  }
  return Math.round((calls * 1000) / (performance.now() - startMs));
}

for (const text of ['0 9 * * 1-5', '*/5 * * * *', '0 0 29 2 *', '*/10 9-17 * * *', '0 0 L * 5#3']) {
  const expression = parseCron(text, { timeZone: ZONE });
  let atMs = FROM_MS;
  const carillon = rate(() => {
    const fire = nextFire(expression, atMs);
    atMs = fire === null || fire.atMs > Date.UTC(2060, 0, 1) ? FROM_MS : fire.atMs;
  });
  let peer = 'cannot read it';
  try {
    let iterator = CronExpressionParser.parse(text, { tz: ZONE, currentDate: new Date(FROM_MS) });
    peer = String(
      rate(() => {
        if (iterator.next().getTime() > Date.UTC(2060, 0, 1)) {
          iterator = CronExpressionParser.parse(text, { tz: ZONE, currentDate: new Date(FROM_MS) });
        }
      }),
    );
  } catch {
    // Reported as it stands.
  }
  console.log(`${text.padEnd(18)} carillon ${String(carillon).padStart(9)}/s   cron-parser ${peer.padStart(9)}/s`);
}
