// What the page tells in passing: faults where they belong, and short words at the corner after something was done.

import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
}

const SHOWN_MS = { word: 4_000, problem: 12_000 };
const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function say(text: string): void {
  show(text, false);
}

function show(text: string, isProblem: boolean): void {
  const id = ++count;
  toasts.value = [...toasts.value.slice(-3), { id, text, isProblem }];
  setTimeout(
    () => {
      toasts.value = toasts.value.filter((toast) => toast.id !== id);
    },
    isProblem ? SHOWN_MS.problem : SHOWN_MS.word,
  );
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isProblem: isFault }) => (
        <p key={id} class={isFault ? 'notice' : 'notice good'}>
          {text}
        </p>
      ))}
    </div>
  );
}

/** Nothing when there is no fault. */
export function Fault({ text, children }: { text: string; children?: ComponentChildren }): JSX.Element | null {
  if (text === '') return null;
  return (
    <div class="notice" role="alert">
      <span>{text}</span>
      {children}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}
