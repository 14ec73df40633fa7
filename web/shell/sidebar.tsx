// The rail at the side: the places of the page, whose work is shown, and whether the picture is live.

import type { JSX } from 'preact';
import { request } from '../api/request.js';
import { useLoaded } from '../api/loaded.js';
import { link, picture } from '../live/socket.js';
import { Bell, Icon, type IconName } from '../components/icons.js';
import { href, route } from '../route.js';
import { actFor, isAdmin, session, signOut } from '../session.js';
import { switchTheme, theme } from './theme.js';

export interface Place {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** The second key of its shortcut, after g. */
  readonly key: string;
  readonly forAdmins: boolean;
}

const PLACES: readonly Place[] = [
  { path: 'cluster', name: 'Cluster', icon: 'cluster', key: 'c', forAdmins: true },
  { path: 'schedules', name: 'Schedules', icon: 'schedules', key: 's', forAdmins: false },
  { path: 'messages', name: 'Messages', icon: 'messages', key: 'm', forAdmins: false },
  { path: 'letters', name: 'Dead letters', icon: 'letters', key: 'd', forAdmins: false },
  { path: 'stores', name: 'Sweeps & stores', icon: 'stores', key: 'w', forAdmins: true },
];

export function placesOf(admin: boolean): readonly Place[] {
  return PLACES.filter(({ forAdmins }) => admin || !forAdmins);
}

export function Sidebar(): JSX.Element {
  const here = route.value.path[0];
  return (
    <header class="rail">
      <a class="brand" href={href([])}>
        <Bell />
        Carillon
      </a>
      <nav aria-label="Places">
        <ul>
          {placesOf(isAdmin.value).map(({ path, name, icon, key }) => (
            <li key={path}>
              <a href={href([path])} aria-current={here === path ? 'page' : undefined} title={`${name} (g ${key})`}>
                <Icon name={icon} />
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <footer>
        {isAdmin.value && <TenantChoice />}
        {isAdmin.value && <LinkState />}
        <div class="buttons">
          <button type="button" class="button small plain" onClick={switchTheme}>
            <Icon name="light" size={14} /> {theme.value === 'light' ? 'Dark' : 'Light'}
          </button>
          <button type="button" class="button small plain" onClick={() => signOut()}>
            Sign out
          </button>
        </div>
      </footer>
    </header>
  );
}

function TenantChoice(): JSX.Element {
  const { value = [] } = useLoaded('tenants', (signal) =>
    request<readonly { name: string }[]>('/admin/tenants', { signal }),
  );
  const tenant = session.value?.tenant ?? '';
  const names = value.some(({ name }) => name === tenant)
    ? value.map(({ name }) => name)
    : [tenant, ...value.map(({ name }) => name)];
  return (
    <label class="field">
      <span>Tenant</span>
      <select value={tenant} onChange={(event) => actFor(event.currentTarget.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function LinkState(): JSX.Element {
  const words = { live: 'Live', connecting: 'Connecting', away: 'Lost, trying again', closed: 'Not connected' };
  return (
    <span class={`link ${link.value}`} role="status">
      <i />
      {words[link.value]}
      {picture.value !== null && <span class="quiet"> · {picture.value.cluster.version}</span>}
    </span>
  );
}
