/** Judges whether the witnesses saw anything at all: a run in which one of them was blind proves nothing. */
import type { Evidence } from '../evidence.js';
import type { Finding } from './findings.js';

/** One finding for each witness that saw nothing. */
export function judgePresence(evidence: Evidence): Finding[] {
  const seen: readonly (readonly [string, number])[] = [
    ['no publish was accepted', evidence.publishes.filter(({ messageId }) => messageId !== null).length],
    ['no message is recorded', evidence.messages.length],
    ['no call came in at the receiver', evidence.calls.length],
    ['no claim was heard', evidence.claims.length],
    ['no change of a message’s state was noted', evidence.stateNotes.length],
    ['no grant of a shard was noted', evidence.grants.length],
    ['no node was ready', evidence.lives.filter(({ readyAtMs }) => readyAtMs !== null).length],
    ['no line of a node’s log was read', evidence.events.length],
    ['the cluster was never looked at from outside', evidence.samples.length],
  ];
  return seen.flatMap(([kind, count]) => (count > 0 ? [] : [{ kind, count: 1, examples: [] }]));
}
