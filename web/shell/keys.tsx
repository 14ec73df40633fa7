// Keys that work everywhere: g and a letter goes to a place, / to the search, ? tells what there is.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { go } from '../route.js';
import { isAdmin } from '../session.js';
import { placesOf } from './sidebar.js';

/** After g, the letter must come within this time. */
const SECOND_KEY_MS = 1_200;

export function Keys(): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let afterG = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const place =
        event.timeStamp - afterG < SECOND_KEY_MS
          ? placesOf(isAdmin.value).find(({ key }) => key === event.key)
          : undefined;
      afterG = event.key === 'g' ? event.timeStamp : 0;
      if (place !== undefined) go([place.path]);
      else if (event.key === '?') setOpen(true);
      else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('input[type=search]');
        if (search === null) return;
        search.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return isOpen ? <Help close={() => setOpen(false)} /> : null;
}

function Help({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys">
      <form method="dialog">
        <h3 id="keys">Keys</h3>
        <dl class="facts">
          {placesOf(isAdmin.value).map(({ key, name }) => (
            <>
              <dt>
                <code>g {key}</code>
              </dt>
              <dd>{name}</dd>
            </>
          ))}
          <dt>
            <code>/</code>
          </dt>
          <dd>Search</dd>
          <dt>
            <code>?</code>
          </dt>
          <dd>This list</dd>
        </dl>
        <div class="buttons">
          <button class="button" autofocus>
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
