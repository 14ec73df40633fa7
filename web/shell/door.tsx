// The door: takes a token, finds out whose it is, and keeps it for this tab.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFault, request, textOf } from '../api/request.js';
import { writtenIn } from '../parts/fields.js';
import { Bell } from '../parts/icons.js';
import { Fault } from '../parts/notices.js';
import { signIn, signInFault, type Session } from '../session.js';

/** The tenant that exists from the beginning. */
const FIRST_TENANT = 'default';

export function Door(): JSX.Element {
  const [fault, setFault] = useState(signInFault.value);
  const [isBusy, setBusy] = useState(false);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const token = writtenIn(form, 'token');
    setBusy(true);
    try {
      signIn(await whose(token));
    } catch (error) {
      setFault(textOf(error));
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
        <Fault text={fault} />
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
    if (error instanceof ApiFault && error.status === 403) return { token, role: 'tenant', tenant: '' };
    throw error;
  }
}
