// Rows of the record, as lists show them.

import type { JSX } from 'preact';
import type { Run } from '../../api/answer-types.js';
import { Destination } from '../../components/destination.js';
import { RunBadge } from '../../components/state.js';
import { span, utcText, When } from '../../components/time.js';
import { href } from '../../route.js';

export function RunTable({
  runs,
  isOfOneSchedule = false,
}: {
  runs: readonly Run[];
  isOfOneSchedule?: boolean;
}): JSX.Element {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th>State</th>
            <th>Due, UTC</th>
            {!isOfOneSchedule && <th>Of</th>}
            {!isOfOneSchedule && <th>Destination</th>}
            <th class="number">Late</th>
            <th class="number">Attempts</th>
            <th>What came of it</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row key={run.messageId} run={run} isOfOneSchedule={isOfOneSchedule} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ run, isOfOneSchedule }: { run: Run; isOfOneSchedule: boolean }): JSX.Element {
  return (
    <tr>
      <td>
        <RunBadge state={run.state} />
      </td>
      <td class="nowrap">
        <a href={href(['messages', run.messageId])}>{utcText(Date.parse(run.dueAt))}</a>{' '}
        <span class="quiet">
          <When at={run.dueAt} />
        </span>
      </td>
      {!isOfOneSchedule && (
        <td class="nowrap">
          {run.scheduleId === undefined ? (
            <span class="quiet">{run.kind}</span>
          ) : (
            <a href={href(['schedules', run.scheduleId])}>{run.scheduleId}</a>
          )}
        </td>
      )}
      {!isOfOneSchedule && (
        <td class="long">
          <Destination url={run.destination} method={run.method} />
        </td>
      )}
      <td class="number nowrap">{run.latenessMs === undefined ? '–' : span(run.latenessMs)}</td>
      <td class="number">
        {run.attempts}
        {run.state === 'pending' && run.attempts > 0 && <span class="quiet"> of {run.maxRetries + 1}</span>}
      </td>
      <td class="long outcome">{outcomeOf(run)}</td>
    </tr>
  );
}

function outcomeOf(run: Run): JSX.Element | string {
  if (run.state === 'pending' && run.nextAttemptAt !== undefined && run.attempts > 0) {
    return (
      <>
        next attempt <When at={run.nextAttemptAt} />
        {run.error !== undefined && <span class="quiet"> · {run.error}</span>}
      </>
    );
  }
  const kind = run.kind === 'manual' ? 'manual run' : '';
  return [
    kind,
    run.reason,
    run.error,
    run.error === undefined && run.status !== undefined ? `answered ${run.status}` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}
