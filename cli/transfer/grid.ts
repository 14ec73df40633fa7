/** Where the grid of an `@every` lies that has fired elsewhere before: here it goes on at the same times. */
import { parseCron } from '../../src/domain/cron/parse.js';
import { CarillonError } from '../../src/domain/errors.js';
import { LineError } from './items.js';

/** The header by which an `@every` keeps its grid, of which one time is known (not before the first that is to fire); nothing for calendars. */
export function anchorOf(cron: string, onGridMs: number | undefined): { 'Carillon-Anchor'?: string } {
  let expression;
  try {
    expression = parseCron(cron);
  } catch (error) {
    throw error instanceof CarillonError ? new LineError(error.message) : error;
  }
  if (expression.kind !== 'interval' || onGridMs === undefined) return {};
  // An anchor does not fire itself, and there are none before 1970.
  const { periodMs } = expression;
  const anchorMs = onGridMs >= periodMs ? onGridMs - periodMs : onGridMs % periodMs;
  return { 'Carillon-Anchor': new Date(anchorMs).toISOString() };
}
