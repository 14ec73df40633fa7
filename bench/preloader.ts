/** The preloading way, a process of its own: every schedule becomes a timer in memory before the first work is done. */
import { say, startOptions } from './child.js';
import { bodyOf, createPost, signedHeaders } from './signed-post.js';

export interface PreloaderOptions {
  readonly library: PreloadingLibrary;
  readonly schedules: number;
  readonly url: string;
}

export type PreloadingLibrary = 'croner' | 'cron-parser';

const { library, schedules, url } = startOptions() as PreloaderOptions;
/** `setTimeout` takes no longer ones. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Yearly, spread over the year, as the schedules that a Carillon node starts with. */
function patternOf(number: number): string {
  const hour = Math.floor(number / 60) % 24;
  const day = (Math.floor(number / 1_440) % 28) + 1;
  const month = (Math.floor(number / 40_320) % 12) + 1;
  return `${number % 60} ${hour} ${day} ${month} *`;
}

async function loaderOf(name: PreloadingLibrary): Promise<(pattern: string, fire: () => void) => unknown> {
  if (name === 'croner') {
    const { Cron } = await import('croner');
    return (pattern, fire) => new Cron(pattern, { timezone: 'UTC' }, fire);
  }
  const { CronExpressionParser } = await import('cron-parser');
  return (pattern, fire) => {
    const expression = CronExpressionParser.parse(pattern, { tz: 'UTC' });
    const waitMs = expression.next().getTime() - Date.now();
    return { expression, timer: setTimeout(fire, Math.min(waitMs, LONGEST_TIMER_MS)) };
  };
}

const load = await loaderOf(library);
const post = createPost(url, 1);
const timers = Array.from({ length: schedules }, (_, number) => load(patternOf(number), () => undefined));
// What came due while nobody ran.
await post(signedHeaders(url, 'msg_0', bodyOf(0), null), bodyOf(0));
say({ kind: 'delivered', timers: timers.length });
