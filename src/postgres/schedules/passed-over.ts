// Runs changes of schedules whose due occurrences get their records in the same transaction.

import type { PlannedMessage } from '../../domain/occurrence.js';
import type { Database, Queryable } from '../database.js';
import { messageColumns } from '../messages/message-columns.js';
import { withPartitions } from '../partitions.js';

/** Rows of one statement. */
const ROWS_AT_ONCE = 500;

/** Records occurrences that a change passes over, within the change's transaction. */
export type RecordPassedOver = (occurrences: readonly PlannedMessage[]) => Promise<void>;

/** Told the reasons on the records of occurrences that a change passed over, once they are committed. */
export type OnSkipped = (reasons: readonly string[]) => void;

/**
 * Runs a change in a transaction, and once more after making partitions when one of the occurrences that it passed over has none: they may be
 * older than the weeks that there are.
 */
export async function changeSchedules<Result>(
  database: Database,
  change: (connection: Queryable, record: RecordPassedOver) => Promise<Result>,
  onSkipped: OnSkipped,
): Promise<Result> {
  const dueTimesMs: number[] = [];
  let reasons: string[] = [];
  const result = await withPartitions(database, dueTimesMs, () =>
    database.transaction((connection) => {
      reasons = [];
      return change(connection, async (occurrences) => {
        dueTimesMs.push(...occurrences.map(({ message }) => message.dueAtMs));
        reasons.push(...occurrences.flatMap(({ skipped }) => skipped?.reason ?? []));
        for (let from = 0; from < occurrences.length; from += ROWS_AT_ONCE) {
          await connection.run('insert-messages', messageColumns(occurrences.slice(from, from + ROWS_AT_ONCE)));
        }
      });
    }),
  );
  if (reasons.length > 0) onSkipped(reasons);
  return result;
}
