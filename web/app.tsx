// The page: the door for whoever is not signed in; otherwise the rail and the place that the address names.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Asking } from './components/confirm.js';
import { Empty, Toasts } from './components/notices.js';
import { href, route } from './route.js';
import { isAdmin, session } from './session.js';
import { SignIn } from './shell/sign-in.js';
import { Keys } from './shell/keys.js';
import { placesOf, Sidebar } from './shell/sidebar.js';
import { Cluster } from './views/cluster/cluster.js';
import { LetterGroupsView } from './views/dead-letters/groups.js';
import { LetterList } from './views/dead-letters/list.js';
import { MessageList } from './views/messages/list.js';
import { OneMessage } from './views/messages/one.js';
import { EditSchedule, NewSchedule } from './views/schedules/form.js';
import { ScheduleList } from './views/schedules/list.js';
import { OneSchedule } from './views/schedules/one.js';
import { Stores } from './views/stores.js';

export function App(): JSX.Element {
  return session.value === null ? <SignIn /> : <Inside tenant={session.value.tenant} />;
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
      <Sidebar />
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
  const [place, id, more] = path;
  switch (place) {
    case 'cluster':
      return isAdmin.value ? <Cluster /> : <ForAdmins />;
    case 'stores':
      return isAdmin.value ? <Stores /> : <ForAdmins />;
    case 'new-schedule':
      return <NewSchedule />;
    case 'schedules':
      if (id === undefined) return <ScheduleList />;
      return more === 'edit' ? <EditSchedule key={id} id={id} /> : <OneSchedule key={id} id={id} />;
    case 'messages':
      return id === undefined ? <MessageList /> : <OneMessage key={id} id={id} />;
    case 'letters':
      return id === undefined ? <LetterGroupsView /> : <LetterList />;
    case undefined:
      return <></>;
    default:
      return <Empty title="There is nothing here">The address names no place of this page.</Empty>;
  }
}

function ForAdmins(): JSX.Element {
  return (
    <Empty title="For administrators">The cluster is shown to whoever signs in with an administrator’s token.</Empty>
  );
}
