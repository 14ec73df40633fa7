// The few drawings of the page, each on a grid of 16; they take the colour of the text.

import type { JSX } from 'preact';

const PATHS = {
  cluster:
    'M2 2h3.4v3.4H2zM6.3 2h3.4v3.4H6.3zM10.6 2H14v3.4h-3.4zM2 6.3h3.4v3.4H2zM6.3 6.3h3.4v3.4H6.3zM2 10.6h3.4V14H2z',
  schedules:
    'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3zm-.7 1.5v3.9l2.7 2.2.9-1.1-2.2-1.8V4.5z',
  messages: 'M1.5 3.5h13v9h-13zM3 5.7V11h10V5.7L8 9.3zM3.7 5 8 8l4.3-3z',
  letters: 'M8 1.3 15 14H1zm0 3.1L3.5 12.5h9zM7.3 7h1.4v3H7.3zm0 3.7h1.4v1.3H7.3z',
  stores:
    'M8 1.5c3.3 0 5.5 1 5.5 2.5v8c0 1.5-2.2 2.5-5.5 2.5S2.5 13.5 2.5 12V4C2.5 2.5 4.7 1.5 8 1.5zM4 6v2c.3.5 1.9 1 4 1s3.7-.5 4-1V6c-1 .5-2.4.8-4 .8S5 6.5 4 6zm0 4v2c.3.5 1.9 1 4 1s3.7-.5 4-1v-2c-1 .5-2.4.8-4 .8S5 10.5 4 10z',
  yes: 'M6.4 12.3 2.3 8.2l1.3-1.3 2.8 2.8 6-6L13.7 5z',
  no: 'm4.2 2.9 3.8 3.8 3.8-3.8 1.3 1.3L9.3 8l3.8 3.8-1.3 1.3L8 9.3l-3.8 3.8-1.3-1.3L6.7 8 2.9 4.2z',
  wait: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
  skip: 'M2.5 7.2h6.8L6.9 4.8 8 3.7 12.3 8 8 12.3l-1.1-1.1 2.4-2.4H2.5zM12.5 3.5H14v9h-1.5z',
  stop: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5c1 0 1.9.3 2.6.9l-6.2 6.2A4.5 4.5 0 0 1 8 3.5zm3.6 1.9a4.5 4.5 0 0 1-6.2 6.2z',
  pause: 'M4.5 3h2.4v10H4.5zM9.1 3h2.4v10H9.1z',
  play: 'M4.5 2.8v10.4L13 8z',
  dot: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
  ask: 'M8 14.3a1 1 0 1 0 0-2 1 1 0 0 0 0 2zm-.8-3h1.5c0-1 .3-1.4 1.2-2.1 1.1-.8 1.8-1.7 1.8-3.1 0-2.3-1.6-3.7-3.7-3.7-2.2 0-3.7 1.5-3.7 3.7h1.5c0-1.4.9-2.3 2.2-2.3s2.2.9 2.2 2.3c0 .9-.5 1.4-1.3 2-1.1.8-1.7 1.6-1.7 3.2z',
  plus: 'M7.2 2.5h1.6v4.7h4.7v1.6H8.8v4.7H7.2V8.8H2.5V7.2h4.7z',
  again: 'M8 2.5c1.7 0 3.2.7 4.2 1.9V2.5h1.5V7H9.2V5.5h2A4 4 0 1 0 12 8h1.5A5.5 5.5 0 1 1 8 2.5z',
  arrow: 'M2.5 7.2h8L7.4 4.1l1.1-1.1 5 5-5 5-1.1-1.1 3.1-3.1h-8z',
  drain: 'M7.2 2h1.6v6.3l2.3-2.3 1.1 1.1L8 11.4 3.8 7.1 4.9 6l2.3 2.3zM3 12.5h10V14H3z',
  light: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5v9a4.5 4.5 0 0 1 0-9z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" fill="currentColor" fill-rule="evenodd" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Bell({ size = 24 }: { size?: number }): JSX.Element {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="currentColor" aria-hidden="true">
      <path d="M14.5 3h3v2.1c3.9.7 6.3 3.9 6.7 8.1l.6 5.6c.2 1.7 1 3.1 2.4 4.2.9.7.4 2-.7 2h-21c-1.1 0-1.6-1.3-.7-2 1.4-1.1 2.2-2.5 2.4-4.2l.6-5.6c.4-4.2 2.8-7.4 6.7-8.1z" />
      <path d="M12.5 26.7h7a3.5 3.5 0 0 1-7 0z" />
    </svg>
  );
}
