// Which items a group holds: bounded in number and in weight, in the order they came.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupCommit, type GroupCommitSettings } from '../../../src/postgres/group-commit.js';
import { processTime } from '../../../src/time/process-time.js';

async function groupsOf(items: number[], limits: Partial<GroupCommitSettings<number>>): Promise<number[][]> {
  const groups: number[][] = [];
  const commit = new GroupCommit<number, number>({ maxItems: 100, maxGroups: 1, ...limits }, (group) => {
    groups.push(group);
    return Promise.resolve(group);
  });
  expect(await commit.addAll(items)).toEqual(items);
  return groups;
}

const weighed = { maxWeight: 10, weigh: (item: number) => item };

describe('a group', () => {
  it('holds no more than its number of items', async () => {
    expect(await groupsOf([1, 2, 3, 4, 5], { maxItems: 2 })).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('ends before it gets too heavy', async () => {
    expect(await groupsOf([4, 6, 1, 9, 5, 6], weighed)).toEqual([[4, 6], [1, 9], [5], [6]]);
  });

  it('is one item where that alone is too heavy', async () => {
    expect(await groupsOf([11, 0, 2, 30, 40, 3], weighed)).toEqual([[11], [0, 2], [30], [40], [3]]);
  });

  it('holds the number of items too where they weigh little', async () => {
    expect(await groupsOf([1, 1, 1], { ...weighed, maxItems: 2 })).toEqual([[1, 1], [1]]);
  });

  it('weighs nothing where nothing says what an item weighs', async () => {
    expect(await groupsOf([1, 2, 3], { maxWeight: 1 })).toEqual([[1, 2, 3]]);
  });
});

describe('several groups at once', () => {
  it('begin one in a round of the event loop, since making a large one takes its time (issue 11, A3)', async () => {
    let begun = 0;
    const release: (() => void)[] = [];
    const commit = new GroupCommit<number, number>({ maxItems: 1, maxGroups: 3 }, async (group) => {
      begun += 1;
      await new Promise<void>((resolve) => release.push(resolve));
      return group;
    });
    const all = commit.addAll([1, 2, 3]);
    const seen: number[] = [];
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(begun);
    }
    expect(seen).toEqual([1, 2, 3]);
    release.forEach((end) => end());
    expect(await all).toEqual([1, 2, 3]);
  });
});

describe('groups that gather', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const gather = { forMs: 20, items: 3 };

  /** A commit whose groups are written at once, and what was written so far. */
  function gathering(): { commit: GroupCommit<number, number>; groups: number[][] } {
    const groups: number[][] = [];
    const commit = new GroupCommit<number, number>(
      { maxItems: 100, maxGroups: 1, gather: { time: processTime, ...gather } },
      (group) => {
        groups.push(group);
        return Promise.resolve(group);
      },
    );
    return { commit, groups };
  }

  it('leave at once where none left a moment ago', async () => {
    const { commit, groups } = gathering();
    void commit.addAll([1]);
    await vi.advanceTimersByTimeAsync(0);
    expect(groups).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(gather.forMs);
    void commit.addAll([2]);
    await vi.advanceTimersByTimeAsync(0);
    expect(groups).toEqual([[1], [2]]);
  });

  it('wait for their time after the one before, and no longer', async () => {
    const { commit, groups } = gathering();
    void commit.addAll([1]);
    await vi.advanceTimersByTimeAsync(1);
    void commit.addAll([2]);
    await vi.advanceTimersByTimeAsync(gather.forMs - 3);
    void commit.addAll([3]);
    expect(groups).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(4);
    expect(groups).toEqual([[1], [2, 3]]);
  });

  it('leave before that when enough wait', async () => {
    const { commit, groups } = gathering();
    void commit.addAll([1]);
    await vi.advanceTimersByTimeAsync(0);
    void commit.addAll([2, 3]);
    await vi.advanceTimersByTimeAsync(0);
    expect(groups).toEqual([[1]]);
    void commit.addAll([4]);
    await vi.advanceTimersByTimeAsync(0);
    expect(groups).toEqual([[1], [2, 3, 4]]);
  });
});
