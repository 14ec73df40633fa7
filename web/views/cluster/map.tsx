// The shard map: one cell for each shard, in the colour and pattern of its owner. When a shard moves, its cell leaves, pauses and arrives.

import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useRef, useState } from 'preact/hooks';
import type { Picture, ShardState } from '../../../src/admin/protocol.js';
import { colorOf, nameOf } from '../../live/owners.js';
import { span } from '../../components/time.js';

/** Beyond this a shard's lag is marked on its cell. */
const LATE_MS = 1_000;
/** Cells that move at once begin within this time, so that the eye can follow. */
const SPREAD_MS = 420;

const columnsFor = (shards: number): number => (shards <= 64 ? 16 : shards <= 512 ? 32 : 64);

export function ShardMap({ picture }: { picture: Picture }): JSX.Element {
  const { shards, levels, nodes } = picture;
  const doubted = new Set(nodes.flatMap(({ id, state }) => (state === 'suspect' || state === 'unable' ? [id] : [])));
  const columns = columnsFor(shards.length);
  const [chosen, setChosen] = useState<number | null>(null);
  const [entry, setEntry] = useState(0);
  const grid = useRef<HTMLDivElement>(null);
  const focus = (shard: number): void => {
    if (shard < 0 || shard >= shards.length) return;
    setEntry(shard);
    grid.current?.querySelector<HTMLElement>(`[data-shard="${shard}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    focus(entry + step);
  };
  const rows = Array.from({ length: Math.ceil(shards.length / columns) }, (_, row) => row);
  return (
    <div>
      <div
        ref={grid}
        class="map"
        role="grid"
        aria-label={`Shard map: ${shards.length} shards by owner`}
        style={{ '--columns': columns }}
        onKeyDown={onKeyDown}
        onMouseLeave={() => setChosen(null)}
      >
        {rows.map((row) => (
          <div key={row} role="row" class="map-row">
            {shards.slice(row * columns, (row + 1) * columns).map(({ shard, owner, state, epoch }) => (
              <Cell
                key={shard}
                shard={shard}
                owner={owner === null ? '' : nameOf(owner)}
                state={state}
                epoch={epoch}
                load={loadOf((levels.inFlight[shard] ?? 0) + (levels.due[shard] ?? 0))}
                isLate={(levels.lagMs[shard] ?? 0) > LATE_MS}
                isDoubted={owner !== null && doubted.has(owner)}
                isEntry={shard === entry}
                choose={setChosen}
              />
            ))}
          </div>
        ))}
      </div>
      <p class="map-told" aria-live="polite">
        {chosen === null ? <Sum picture={picture} /> : <Told picture={picture} shard={chosen} />}
      </p>
    </div>
  );
}

/** How full a cell is drawn, 0 to 5: each step is about four times the one before. */
function loadOf(entries: number): number {
  return entries === 0 ? 0 : Math.min(5, 1 + Math.floor(Math.log2(entries) / 2));
}

interface CellProps {
  readonly shard: number;
  /** The owner's name; of the last one while it moves, '' without one. */
  readonly owner: string;
  readonly state: ShardState;
  readonly epoch: number;
  readonly load: number;
  readonly isLate: boolean;
  /** Whether its owner may be gone. */
  readonly isDoubted: boolean;
  readonly isEntry: boolean;
  readonly choose: (shard: number) => void;
}

/** What the cell showed before, and how it came from there. */
interface Shown {
  readonly owner: string;
  readonly state: ShardState;
  /** Counts changes: each plays its animation once. */
  readonly turn: number;
  readonly from: string;
  readonly motion: '' | 'hop' | 'arrive';
}

const Cell = memo(function Cell(props: CellProps): JSX.Element {
  const { shard, owner, state, epoch, load, isLate, isDoubted, isEntry, choose } = props;
  const shown = useRef<Shown>({ owner, state, turn: 0, from: '', motion: '' });
  const before = shown.current;
  if (before.owner !== owner || before.state !== state) shown.current = next(before, owner, state);
  const { turn, from, motion } = shown.current;
  const mark = owner === '' ? null : colorOf(owner);
  const classes = [
    'cell',
    state,
    motion,
    mark === null ? '' : `p${mark.pattern}`,
    isLate ? 'late' : '',
    isDoubted ? 'doubted' : '',
  ];
  return (
    <div
      role="gridcell"
      data-shard={shard}
      data-owner={owner}
      data-state={state}
      tabIndex={isEntry ? 0 : -1}
      aria-label={`Shard ${shard}: ${state}${owner === '' ? '' : state === 'owned' ? ` by ${owner}` : `, last by ${owner}`}, epoch ${epoch}`}
      class={classes.join(' ')}
      style={{
        '--own': mark === null ? 'transparent' : `var(--owner-${mark.colour})`,
        '--was': from === '' ? 'transparent' : `var(--owner-${colorOf(from).colour})`,
        '--after': `${(shard * 89) % SPREAD_MS}ms`,
      }}
      onMouseEnter={() => choose(shard)}
      onFocus={() => choose(shard)}
    >
      <i key={turn} />
      {load > 0 && <b data-load={load} />}
    </div>
  );
});

/** A move that was over before it could be seen is played whole; one that was seen to leave only arrives. */
function next(before: Shown, owner: string, state: ShardState): Shown {
  const turn = before.turn + 1;
  if (state !== 'owned') return { owner, state, turn, from: before.owner, motion: '' };
  const motion = before.state === 'owned' && before.owner !== '' ? 'hop' : 'arrive';
  return { owner, state, turn, from: before.owner, motion };
}

function Sum({ picture }: { picture: Picture }): JSX.Element {
  const count = (state: ShardState): number => picture.shards.filter((shard) => shard.state === state).length;
  const [moving, orphaned] = [count('moving'), count('orphaned')];
  return (
    <>
      {count('owned')} of {picture.shards.length} shards owned
      {moving > 0 && <span class="warned"> · {moving} moving</span>}
      {orphaned > 0 && <span class="faulted"> · {orphaned} without an owner</span>}
      <span class="quiet"> · point at a cell, or walk with the arrow keys</span>
    </>
  );
}

function Told({ picture, shard }: { picture: Picture; shard: number }): JSX.Element {
  const { owner = null, state = 'orphaned', epoch = 0 } = picture.shards[shard] ?? {};
  const { due, queued, inFlight, lagMs } = picture.levels;
  return (
    <>
      <strong>Shard {shard}</strong> · {state}
      {owner !== null && ` ${state === 'owned' ? 'by' : 'from'} ${nameOf(owner)}`} · epoch {epoch} ·{' '}
      {queued[shard] ?? 0} queued · {due[shard] ?? 0} due · {inFlight[shard] ?? 0} in flight · {span(lagMs[shard] ?? 0)}{' '}
      late
    </>
  );
}

/** The sign of an owner, as in the map, with its letter. */
export function OwnerSign({ name }: { name: string }): JSX.Element {
  const { letter, colour, pattern } = colorOf(name);
  return (
    <span class={`sign p${pattern}`} style={{ '--own': `var(--owner-${colour})` }} aria-hidden="true">
      <em>{letter}</em>
    </span>
  );
}
