// How states look: a colour, a glyph and a word, so that no one of them is the only sign.

import type { JSX } from 'preact';
import type { NodeState } from '../../src/admin/protocol.js';
import type { RunState, Schedule } from '../api/answer-types.js';
import { Icon, type IconName } from './icons.js';

export type Tone = 'good' | 'bad' | 'wait' | 'warn' | 'off';
type Look = readonly [tone: Tone, icon: IconName, word?: string];

export const RUN_LOOKS: Readonly<Record<RunState, Look>> = {
  pending: ['wait', 'wait'],
  delivered: ['good', 'yes'],
  failed: ['bad', 'no'],
  canceled: ['off', 'stop'],
  skipped: ['off', 'skip'],
};

const SCHEDULE_LOOKS: Readonly<Record<Schedule['state'], Look>> = {
  active: ['good', 'play'],
  paused: ['warn', 'pause'],
  ended: ['off', 'stop'],
};

const NODE_LOOKS: Readonly<Record<NodeState, Look>> = {
  joining: ['wait', 'wait'],
  active: ['good', 'yes'],
  draining: ['warn', 'drain'],
  suspect: ['bad', 'ask'],
  unable: ['bad', 'no'],
};

export function State({ look, word }: { look: Look; word: string }): JSX.Element {
  const [tone, icon] = look;
  return (
    <span class={`state ${tone}`}>
      <Icon name={icon} size={12} />
      {word}
    </span>
  );
}

export function RunBadge({ state }: { state: RunState }): JSX.Element {
  return <State look={RUN_LOOKS[state]} word={state} />;
}

export function ScheduleBadge({ state }: { state: Schedule['state'] }): JSX.Element {
  return <State look={SCHEDULE_LOOKS[state]} word={state} />;
}

export function NodeBadge({ state }: { state: NodeState }): JSX.Element {
  return <State look={NODE_LOOKS[state]} word={state} />;
}
