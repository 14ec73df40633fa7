// The chaos checker excuses a second delivery only by a kill, freeze or cut of the very node that had the message in flight.

import { describe, expect, it } from 'vitest';
import { judgeRepeats } from '../../../scripts/chaos/check/repeats.js';
import type { Disturbance } from '../../../scripts/chaos/evidence.js';
import { call, goodRun, life, T0 } from './evidence-builder.js';

// The signal is sent a moment after the kill is noted.
const killed = life('node-1', 1, { endedBy: 'SIGKILL', signaledAtMs: T0 + 1_501, endedAtMs: T0 + 1_502 });
const lives = [killed, life('node-2', 2)];
const kill: Disturbance = { node: 'node-1', kind: 'kill', fromMs: T0 + 1_500, toMs: T0 + 1_500 };
const first = call('msg_1', { pid: 1 });
const again = call('msg_1', { pid: 2, arrivedAtMs: T0 + 17_000, answeredAtMs: T0 + 17_001 });
const committed = (atMs: number) => [{ messageId: 'msg_1', state: 'delivered', atMs }];
const late = { lives, stateNotes: committed(T0 + 17_005) };

describe('a second delivery is explained by', () => {
  it('a kill of the node that had not recorded it yet', () => {
    const verdict = judgeRepeats(goodRun({ ...late, calls: [first, again], disturbances: [kill] }));
    expect(verdict).toMatchObject({
      duplicates: 1,
      unexplainedDuplicates: 0,
      explained: { kill: 1, freeze: 0, cut: 0 },
    });
  });

  it('a kill while the receiver was still at work', () => {
    const open = { ...first, answeredAtMs: null, status: null, arrivedAtMs: T0 + 100 };
    const verdict = judgeRepeats(goodRun({ ...late, calls: [open, again], disturbances: [kill] }));
    expect(verdict.unexplainedDuplicates).toBe(0);
  });

  it('a freeze of the node that held it', () => {
    const freeze: Disturbance = { node: 'node-1', kind: 'freeze', fromMs: T0 + 1_012, toMs: T0 + 20_000 };
    const verdict = judgeRepeats(goodRun({ ...late, calls: [first, again], disturbances: [freeze] }));
    expect(verdict.explained.freeze).toBe(1);
  });

  it('a freeze of the node that sent it again after another one had finished it', () => {
    const freeze: Disturbance = { node: 'node-2', kind: 'freeze', fromMs: T0 + 1_000, toMs: T0 + 16_990 };
    const stateNotes = committed(T0 + 1_015);
    const verdict = judgeRepeats(goodRun({ lives, stateNotes, calls: [first, again], disturbances: [freeze] }));
    expect(verdict.explained.freeze).toBe(1);
  });

  it('a kill, where nobody knows who made the call', () => {
    const unknown = { ...first, pid: null };
    const verdict = judgeRepeats(goodRun({ ...late, calls: [unknown, again], disturbances: [kill] }));
    expect(verdict.explained.kill).toBe(1);
  });
});

describe('a second delivery is a fault', () => {
  it('when nothing happened', () => {
    const verdict = judgeRepeats(goodRun({ ...late, calls: [first, again] }));
    expect(verdict).toMatchObject({ duplicates: 1, unexplainedDuplicates: 1 });
    expect(verdict.unexplained[0]?.examples[0]).toContain('from node-1-00000001');
  });

  it('when another node was killed than the one that had it', () => {
    const calls = [{ ...first, pid: 2 }, again];
    expect(judgeRepeats(goodRun({ ...late, calls, disturbances: [kill] })).unexplainedDuplicates).toBe(1);
  });

  it('when the answer came long before the kill: it should have been recorded', () => {
    const disturbances = [{ ...kill, fromMs: T0 + 9_000, toMs: T0 + 9_000 }];
    expect(judgeRepeats(goodRun({ ...late, calls: [first, again], disturbances })).unexplainedDuplicates).toBe(1);
  });

  it('when it came before the kill', () => {
    const before = { ...again, arrivedAtMs: T0 + 1_400 };
    expect(judgeRepeats(goodRun({ ...late, calls: [first, before], disturbances: [kill] })).unexplainedDuplicates).toBe(
      1,
    );
  });

  it('when the call began after the kill, in the next life of the node', () => {
    const next = life('node-1', 3, { spawnedAtMs: T0 + 2_000 });
    const fromNext = { ...first, pid: 3, arrivedAtMs: T0 + 4_000, answeredAtMs: T0 + 4_001 };
    const evidence = goodRun({ ...late, lives: [...lives, next], calls: [fromNext, again], disturbances: [kill] });
    expect(judgeRepeats(evidence).unexplainedDuplicates).toBe(1);
  });
});

describe('a retry', () => {
  it('after a failed answer is no second delivery', () => {
    const calls = [
      { ...first, status: 500 },
      { ...again, retried: 1 },
    ];
    expect(judgeRepeats(goodRun({ lives, calls }))).toMatchObject({ retries: 1, duplicates: 0 });
  });
});
