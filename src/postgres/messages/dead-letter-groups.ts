// Dead letters by what they have in common: where they were to go, and what went wrong there.

import { messageIdFloor } from '../../domain/ids.js';
import type { Queryable } from '../database.js';

const DAY_MS = 86_400_000;

export interface DeadLetterGroup {
  readonly destination: string;
  /** 0: no answer. */
  readonly status: number;
  /** '' where there is no text. */
  readonly error: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly latestAtMs: number;
}

export interface DeadLetterGroups {
  /** The most numerous first. */
  readonly groups: readonly DeadLetterGroup[];
  /** How many letters were looked at. */
  readonly counted: number;
}

/** Groups the latest `countedMax` of a tenant's dead letters. */
export async function groupDeadLetters(
  table: Queryable,
  tenantId: number,
  { nowMs, countedMax, groupsMax }: { nowMs: number; countedMax: number; groupsMax: number },
): Promise<DeadLetterGroups> {
  const rows = await table.run('group-dead-letters', {
    tenantId,
    beyondId: messageIdFloor(nowMs + DAY_MS),
    countedMax,
    groupsMax,
  });
  return {
    counted: rows[0]?.looked_at ?? 0,
    groups: rows.map(({ destination, status, error, count, first_at, latest_at }) => ({
      ...{ destination, status, error, count },
      ...{ firstAtMs: first_at, latestAtMs: latest_at },
    })),
  };
}
