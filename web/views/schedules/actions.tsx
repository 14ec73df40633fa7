// What can be done to a schedule; each says before what it will do.

import { deleteSchedule, pauseSchedule, resumeSchedule, triggerSchedule } from '../../api/schedules.js';
import type { Schedule } from '../../api/answer-types.js';
import { ask } from '../../components/confirm.js';
import { say } from '../../components/notices.js';
import { Exactly } from '../../components/time.js';
import { go } from '../../route.js';

export function askToPause({ scheduleId, nextScheduleTime }: Schedule, done: () => void): void {
  ask({
    title: `Pause ${scheduleId}?`,
    text: (
      <>
        <p>Occurrences that fall into the pause do not happen, leave no rows, and are not caught up.</p>
        {nextScheduleTime !== undefined && (
          <p>
            The first that will not happen: <Exactly at={nextScheduleTime} />
          </p>
        )}
        <p class="quiet">What it has sent already goes on, retries included.</p>
      </>
    ),
    verb: 'Pause it',
    act: async () => {
      await pauseSchedule(scheduleId);
      say(`${scheduleId} is paused`);
      done();
    },
  });
}

export function askToResume({ scheduleId }: Schedule, done: () => void): void {
  ask({
    title: `Resume ${scheduleId}?`,
    text: 'It goes on with the next occurrence from now. Nothing of the pause is caught up.',
    verb: 'Resume it',
    act: async () => {
      await resumeSchedule(scheduleId);
      say(`${scheduleId} goes on`);
      done();
    },
  });
}

export function askToTrigger({ scheduleId, method, destination, state }: Schedule, done: () => void): void {
  ask({
    title: `Run ${scheduleId} now?`,
    text: (
      <>
        <p>
          Sends <code>{method}</code> to <code>{destination}</code> at once, as a manual run.
        </p>
        <p class="quiet">
          It takes no occurrence’s place, moves none, and has no idempotency key
          {state === 'paused' ? '; the schedule stays paused' : ''}.
        </p>
      </>
    ),
    verb: 'Run it now',
    act: async () => {
      const { messageId } = await triggerSchedule(scheduleId);
      say(`${scheduleId} runs: ${messageId}`);
      done();
    },
  });
}

export function askToDelete({ scheduleId }: Schedule): void {
  ask({
    title: `Delete ${scheduleId}?`,
    text: (
      <>
        <p>It has no further occurrence. This cannot be undone; a new schedule may take its id.</p>
        <p class="quiet">Messages that it has produced stay: in the record, and those that wait are still delivered.</p>
      </>
    ),
    verb: 'Delete it',
    isDanger: true,
    act: async () => {
      await deleteSchedule(scheduleId);
      say(`${scheduleId} is deleted`);
      go(['schedules']);
    },
  });
}
