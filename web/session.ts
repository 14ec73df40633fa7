// Who is signed in: the token of this tab, and the tenant it acts for. Kept in sessionStorage alone, and never in an address.

import { computed, signal } from '@preact/signals';

export interface Session {
  readonly token: string;
  /** An administrator sees the cluster, and acts for one tenant at a time; a tenant sees its own work alone. */
  readonly role: 'admin' | 'tenant';
  /** The tenant that an administrator acts for. */
  readonly tenant: string;
}

const KEY = 'carillon.session';

export const session = signal<Session | null>(load());
export const isAdmin = computed(() => session.value?.role === 'admin');

/** Why the page asks to sign in again; empty at first. */
export const signInError = signal('');

export function signIn(next: Session): void {
  sessionStorage.setItem(KEY, JSON.stringify(next));
  signInError.value = '';
  session.value = next;
}

/** `fault` is what the API said about the token, where that is why. */
export function signOut(problem = ''): void {
  sessionStorage.removeItem(KEY);
  signInError.value = problem;
  session.value = null;
}

export function actFor(tenant: string): void {
  if (session.value !== null) signIn({ ...session.value, tenant });
}

function load(): Session | null {
  try {
    const { token, role, tenant } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as Partial<Session>;
    return token === undefined || role === undefined ? null : { token, role, tenant: tenant ?? '' };
  } catch {
    return null;
  }
}
