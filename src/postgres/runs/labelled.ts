// How a list of the record looks for labels. The index of labels gives all that have one, in no order: few are read and put in order at
// once, but of a label that a million have it would read a million for each page. Those are found by walking through the record.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { MessageFilter } from '../messages/message-filter.js';
import type { BoundedReads } from '../reads.js';

/** More than these are many. */
const FEW = 1_000;
/** What takes longer to tell is taken for many. */
const PROBE_MS = 60;

/** A filter for one page, and whether it is to be asked of each row on the way. */
export interface LabelSearch {
  readonly filter: MessageFilter;
  readonly byWalking: boolean;
}

/** How to look for the labels of a filter between two ids. */
export async function searchForLabels(
  reads: BoundedReads,
  tenantId: number,
  filter: MessageFilter,
  { lowId, belowId }: { lowId: MessageId; belowId: MessageId },
): Promise<LabelSearch> {
  const { labels, messageIds, scheduleIds } = filter;
  // Ids are few, and the runs of one schedule are read in their order by another index.
  if (labels === undefined || messageIds !== undefined) return { filter, byWalking: false };
  if (scheduleIds !== undefined) return { filter, byWalking: true };
  const rows = await reads.step(
    (table) => table.run('select-labelled', { tenantId, lowId, belowId, labels, limit: FEW + 1 }),
    PROBE_MS,
  );
  if (rows === null || rows.length > FEW) return { filter, byWalking: true };
  return { filter: { ...filter, messageIds: rows.map(({ id }) => fromUuid(id)) }, byWalking: false };
}
