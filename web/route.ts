// Where the page is: `#/schedules/report?at=…`. Behind the hash, because the paths below /admin are the API's own.

import { signal } from '@preact/signals';

export interface Route {
  /** Decoded segments: ['schedules', 'report']. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parse(location.hash));

addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** The address of a place, for a link. Empty values of the query are left out. */
export function href(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const kept = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  const text = kept.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function go(path: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  location.hash = href(path, query);
}

/** Changes parts of the query without a step in the history: for filters, as one types. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = route.value;
  history.replaceState(null, '', href(path, { ...Object.fromEntries(query), ...changes }));
  route.value = parse(location.hash);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
