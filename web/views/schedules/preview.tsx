// The next ten times of an expression, as one types it: in UTC and by the zone's clock, with what daylight saving does to them.

import type { JSX } from 'preact';
import { useLoaded } from '../../api/loaded.js';
import { previewCron } from '../../api/schedules.js';
import type { NextTime } from '../../api/answer-types.js';
import { Icon } from '../../components/icons.js';
import { fromNow, nowMs } from '../../components/time.js';

/** From the last key to the question. */
const TYPING_MS = 120;

interface Props {
  readonly cron: string;
  readonly timeZone: string;
}

export function Preview({ cron, timeZone }: Props): JSX.Element {
  const expression = cron.trim();
  const {
    value,
    problem: fault,
    isLoading,
  } = useLoaded(
    `${expression}\n${timeZone}`,
    (signal) => (expression === '' ? Promise.resolve(null) : previewCron(expression, timeZone, signal)),
    { waitMs: TYPING_MS, keepOld: true },
  );
  return (
    <section class="sheet preview" aria-labelledby="preview" aria-busy={isLoading}>
      <header>
        <h2 id="preview">The next ten times</h2>
      </header>
      <div class="pad" aria-live="polite">
        {expression === '' && <p class="quiet">They are shown here as you write the expression.</p>}
        {fault !== '' && expression !== '' && <p class="notice">{fault}</p>}
        {fault === '' && expression !== '' && value != null && (
          <>
            <Times
              times={value.times}
              timeZone={timeZone === '' ? (/^(?:CRON_)?TZ=(\S+)/.exec(expression)?.[1] ?? 'UTC') : timeZone}
            />
            {value.dayRule === 'or' && (
              <p class="notice warn">Both day fields are restricted: a day that fits either of them counts.</p>
            )}
          </>
        )}
      </div>
    </section>
  );
}

function Times({ times, timeZone }: { times: readonly NextTime[]; timeZone: string }): JSX.Element {
  const isUtc = timeZone === 'UTC' || timeZone === 'Etc/UTC';
  return (
    <table class="table">
      <thead>
        <tr>
          <th>UTC</th>
          {!isUtc && <th>{timeZone}</th>}
          <th class="number">Away</th>
        </tr>
      </thead>
      <tbody>
        {times.map(({ utc, local, dst }) => (
          <tr key={utc} data-dst={dst ?? ''}>
            <td class="nowrap">
              {utc.slice(0, 10)} {clock(utc)}
            </td>
            {!isUtc && (
              <td>
                <span class="nowrap">
                  {day(local)} {clock(local)} <span class="quiet">{offset(local)}</span>
                </span>
                {dst !== null && <Dst dst={dst} />}
              </td>
            )}
            <td class="number nowrap quiet">{fromNow(Date.parse(utc), nowMs.value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Dst({ dst }: { dst: 'gap' | 'overlap' }): JSX.Element {
  return (
    <span class="state warn dst">
      <Icon name="skip" size={11} />
      {dst === 'gap' ? 'skipped by the clock: right after' : 'shown twice by the clock'}
    </span>
  );
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Sun 8 Mar` of an ISO text, by the text's own clock. */
function day(iso: string): string {
  const date = new Date(`${iso.slice(0, 10)}T00:00:00Z`);
  const [weekday, month] = [WEEKDAYS[date.getUTCDay()], MONTHS[date.getUTCMonth()]];
  return `${weekday ?? ''} ${date.getUTCDate()} ${month ?? ''}`;
}

function clock(iso: string): string {
  const time = iso.slice(11, 19);
  return time.endsWith(':00') ? time.slice(0, 5) : time;
}

function offset(iso: string): string {
  return /(?:[+-]\d\d:\d\d|Z)$/.exec(iso)?.[0] ?? '';
}
