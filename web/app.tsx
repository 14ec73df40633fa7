// The page: the door for whoever is not signed in; otherwise the rail and the place that the address names.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Asking } from './parts/ask.js';
import { Empty, Toasts } from './parts/notices.js';
import { href, route } from './route.js';
import { isAdmin, session } from './session.js';
import { Door } from './shell/door.js';
import { Keys } from './shell/keys.js';
import { placesOf, Rail } from './shell/rail.js';
import { Cluster } from './views/cluster/cluster.js';

export function App(): JSX.Element {
  return session.value === null ? <Door /> : <Inside tenant={session.value.tenant} />;
}

function Inside({ tenant }: { tenant: string }): JSX.Element {
  const { path } = route.value;
  const main = useRef<HTMLElement>(null);
  const places = placesOf(isAdmin.value);
  const place = places.find((known) => known.path === path[0]);
  const title = [path[1], place?.name, 'Carillon'].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    if (path.length === 0 && places[0] !== undefined) location.replace(href([places[0].path]));
  }, [path.length]);
  return (
    <div class="shell">
      <a
        class="skip button"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <Rail />
      <main class="main" id="main" ref={main} tabIndex={-1} key={tenant}>
        <View path={path} />
      </main>
      <Toasts />
      <Asking />
      <Keys />
    </div>
  );
}

function View({ path }: { path: readonly string[] }): JSX.Element {
  const [place, id] = path;
  switch (place) {
    case 'cluster':
      return isAdmin.value ? <Cluster /> : <ForAdmins />;
    case undefined:
      return <></>;
    default:
      return <Empty title="There is nothing here">The address names no place of this page{id === undefined ? '' : ` (${place})`}.</Empty>;
  }
}

function ForAdmins(): JSX.Element {
  return <Empty title="For administrators">The cluster is shown to whoever signs in with an administrator’s token.</Empty>;
}
