// Throughput and lag of the last minutes, drawn by uPlot from the rates of the picture.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Rates } from '../../../src/admin/protocol.js';
import { amount, span } from '../../components/time.js';
import { theme } from '../../shell/theme.js';

export interface Line {
  readonly label: string;
  /** A colour of tokens.css. */
  readonly colour: string;
  /** Lines are told apart without colour. */
  readonly dash?: number[];
  readonly isFilled?: boolean;
  readonly of: (rates: Rates) => number | null;
}

const HEIGHT = 168;
/** So far back the charts reach. */
const SHOWN_S = 300;

interface Props {
  readonly title: string;
  readonly unit: 'rate' | 'time';
  readonly lines: readonly Line[];
  readonly history: readonly Rates[];
}

export function Chart({ title, unit, lines, history }: Props): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shownTheme = theme.value;

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(lines, unit, element.clientWidth), dataOf(lines, history), element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [shownTheme]);
  useEffect(() => plot.current?.setData(dataOf(lines, history)), [history]);

  const last = history.at(-1);
  return (
    <figure class="sheet">
      <header>
        <h2>{title}</h2>
        <ul class="legend">
          {lines.map((line) => (
            <li key={line.label}>
              <svg width="14" height="8" aria-hidden="true">
                <path
                  d="M0 4h14"
                  stroke={`var(${line.colour})`}
                  stroke-width="2"
                  stroke-dasharray={line.dash?.join(' ')}
                />
              </svg>
              {line.label} <strong>{shown(last === undefined ? null : line.of(last), unit)}</strong>
            </li>
          ))}
        </ul>
      </header>
      <div ref={place} class="plot" role="img" aria-label={`${title} over the last ${SHOWN_S / 60} minutes`} />
    </figure>
  );
}

function shown(value: number | null, unit: Props['unit']): string {
  if (value === null) return '–';
  return unit === 'rate' ? amount(value) : span(value);
}

function dataOf(lines: readonly Line[], history: readonly Rates[]): uPlot.AlignedData {
  return [history.map(({ atMs }) => atMs / 1_000), ...lines.map((line) => history.map(line.of))];
}

function optionsOf(lines: readonly Line[], unit: Props['unit'], width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => resolved(style.getPropertyValue(name));
  const axis = {
    stroke: colour('--ink-3'),
    font: '11px Plex, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
    scales: {
      x: { range: (_plot, _min, max) => [max - SHOWN_S, max] },
      y: {
        range: (_plot, _min, max) => [0, Math.max(unit === 'rate' ? 4 : 20, (Number.isFinite(max) ? max : 0) * 1.1)],
      },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 48,
        values: (_plot, ticks) => ticks.map((at) => new Date(at * 1_000).toISOString().slice(11, 16)),
      },
      {
        ...axis,
        size: 58,
        space: 34,
        values: (_plot, ticks) => ticks.map((tick) => (unit === 'rate' ? amount(tick) : span(tick))),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.75,
        points: { show: false },
        spanGaps: true,
        ...(line.dash === undefined ? {} : { dash: [...line.dash] }),
        ...(line.isFilled === true ? { fill: faint(colour(line.colour)) } : {}),
      })),
    ],
  };
}

/** A canvas does not know light-dark(): the browser's own answer for an element that has the colour. */
function resolved(text: string): string {
  const probe = document.createElement('i');
  probe.style.color = text;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function faint(colour: string): string {
  return colour.replace(/^rgb\(/, 'rgba(').replace(/\)$/, ', 0.13)');
}
