// Who is signed in: the tokens of this tab. They live in sessionStorage alone, and never in an address.

import { computed, signal } from '@preact/signals';

export interface Session {
  /** For the cluster, its nodes and stores; empty when there is none. */
  readonly adminToken: string;
  /** A tenant's, for schedules and messages; empty when there is none. */
  readonly token: string;
}

const KEY = 'carillon.session';
const NOBODY: Session = { adminToken: '', token: '' };

export const session = signal<Session>(load());
export const isSignedIn = computed(() => session.value.adminToken !== '' || session.value.token !== '');

/** Why the page asks to sign in again; empty at first. */
export const signInFault = signal('');

export function signIn(next: Session): void {
  sessionStorage.setItem(KEY, JSON.stringify(next));
  signInFault.value = '';
  session.value = next;
}

/** `fault` is what the API said about the token, where that is why. */
export function signOut(fault = ''): void {
  sessionStorage.removeItem(KEY);
  signInFault.value = fault;
  session.value = NOBODY;
}

function load(): Session {
  try {
    const { adminToken, token } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as Partial<Session>;
    return { adminToken: adminToken ?? '', token: token ?? '' };
  } catch {
    return NOBODY;
  }
}
