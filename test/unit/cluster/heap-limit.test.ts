// Issue 11, A3: the heap of a node is set for its machine, shared among the nodes on it, and has room for the bodies it may hold.

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { heapArguments, heapLimitMb } from '../../../cluster/nodes/heap-limit.js';
import { heapError, heapLimitMb as ownHeapLimitMb } from '../../../src/compose/heap.js';
import { configWith } from '../../../src/config.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

describe('the heap of each of several nodes', () => {
  it.each([
    [0.5, 1, 256],
    [2, 1, 1_024],
    [2, 3, 341],
    [4, 3, 682],
    [8, 3, 1_365],
    [64, 3, 2_048],
    [1, 8, 256],
  ])('with %d GiB of memory and %i nodes is %i MiB', (gib, nodes, expected) => {
    expect(heapLimitMb(gib * GIB, nodes)).toBe(expected);
  });

  it('is an argument of Node.js, which takes it', () => {
    const [argument = ''] = heapArguments({}, 3, 2 * GIB, GIB);
    expect(argument).toBe('--max-old-space-size=341');
    const print = 'console.log(v8.getHeapStatistics().heap_size_limit)';
    const { stdout } = spawnSync(process.execPath, [argument, '-e', print], { encoding: 'utf8' });
    // The space of young objects comes on top.
    expect(Number(stdout) / MIB).toBeGreaterThanOrEqual(341);
    expect(Number(stdout) / MIB).toBeLessThan(341 + 64);
  });

  it('is V8’s own where that fits for all of them: another one would make it refuse the compiled program', () => {
    expect(heapArguments({}, 3, 24 * GIB, 4 * GIB)).toEqual([]);
    expect(heapArguments({}, 3, 15 * GIB, 4 * GIB)).toEqual(['--max-old-space-size=2048']);
  });

  it.each(['--max-old-space-size=700', '--trace-gc --max_old_space_size=700', '--max-heap-size=700'])(
    'is the operator’s with NODE_OPTIONS=%s',
    (options) => {
      expect(heapArguments({ NODE_OPTIONS: options }, 3, 2 * GIB, GIB)).toEqual([]);
    },
  );

  it('has room for the default of CARILLON_BODIES_MAX_BYTES, however small the machine', () => {
    expect(heapError(configWith({}), heapLimitMb(1, 100) * MIB)).toBeNull();
  });
});

describe('a heap that is too small for the bodies that may be held', () => {
  it('is a fault that names the setting, the most it may be, and what else to do', () => {
    const config = configWith({ CARILLON_BODIES_MAX_BYTES: 300 * MIB });
    expect(heapError(config, 600 * MIB)).toBeNull();
    expect(heapError(config, 599 * MIB)).toBe(
      `CARILLON_BODIES_MAX_BYTES is ${300 * MIB}, expected at most ${(599 * MIB) / 2}, half of this process's heap limit of ` +
        '599 MiB: lower it, or give the node more memory (NODE_OPTIONS=--max-old-space-size=…)',
    );
  });

  it('is judged by what V8 allows this process', () => {
    expect(ownHeapLimitMb()).toBeGreaterThan(0);
    const bytes = (ownHeapLimitMb() + 1) * MIB;
    expect(heapError(configWith({ CARILLON_BODIES_MAX_BYTES: bytes }))).toContain(`${ownHeapLimitMb()} MiB`);
  });
});
