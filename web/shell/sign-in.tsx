// The door: takes a token, finds out whose it is, and keeps it for this tab.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, request, textOf } from '../api/request.js';
import { writtenIn } from '../components/fields.js';
import { Bell } from '../components/icons.js';
import { Fault } from '../components/notices.js';
import { signIn, signInError, type Session } from '../session.js';

/** The tenant that exists from the beginning. */
const FIRST_TENANT = 'default';

export function SignIn(): JSX.Element {
  const [problem, setError] = useState(signInError.value);
  const [isBusy, setBusy] = useState(false);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const token = writtenIn(form, 'token');
    setBusy(true);
    try {
      signIn(await whose(token));
    } catch (error) {
      setError(textOf(error));
      setBusy(false);
    }
  };
  return (
    <main class="door">
      <form
        class="sheet"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <div class="brand">
          <Bell size={30} />
          <h1>Carillon</h1>
        </div>
        <label class="field">
          <span>Token</span>
          <input
            name="token"
            type="password"
            class="mono"
            autocomplete="off"
            required
            autofocus
            aria-describedby="token-help"
          />
          <small id="token-help">
            The administrator’s shows the cluster and every tenant; a tenant’s shows its own work. It stays in this tab.
          </small>
        </label>
        <Fault text={problem} />
        <button class="button chief" type="submit" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}

async function whose(token: string): Promise<Session> {
  try {
    const tenants = await request<readonly { name: string }[]>('/admin/tenants', { token });
    const first = tenants.find(({ name }) => name === FIRST_TENANT) ?? tenants[0];
    return { token, role: 'admin', tenant: first?.name ?? '' };
  } catch (error) {
    // A tenant's token is known, and not let in there.
    if (error instanceof ApiError && error.status === 403) return { token, role: 'tenant', tenant: '' };
    throw error;
  }
}
