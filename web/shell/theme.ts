// Light or dark: as the machine has it, unless one was chosen.

import { signal } from '@preact/signals';

export type Theme = 'light' | 'dark';

const KEY = 'carillon.theme';
const darkMachine = matchMedia('(prefers-color-scheme: dark)');
const chosen = localStorage.getItem(KEY);

export const theme = signal<Theme>(chosen === 'light' || chosen === 'dark' ? chosen : machineTheme());
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;

darkMachine.addEventListener('change', () => {
  if (localStorage.getItem(KEY) === null) theme.value = machineTheme();
});

export function switchTheme(): void {
  const next = theme.value === 'light' ? 'dark' : 'light';
  // What the machine has anyway needs no memory.
  if (next === machineTheme()) {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, next);
    document.documentElement.dataset.theme = next;
  }
  theme.value = next;
}

function machineTheme(): Theme {
  return darkMachine.matches ? 'dark' : 'light';
}
