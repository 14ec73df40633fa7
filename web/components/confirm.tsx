// Asks before something is done that cannot be taken back, and says what it will do.

import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from '../api/request.js';
import { Fault } from './notices.js';

export interface Question {
  readonly title: string;
  /** What will happen. */
  readonly text: ComponentChildren;
  /** The word on the button. */
  readonly verb: string;
  readonly isDanger?: boolean;
  /** Done when the button is pressed; a fault is shown in the dialog, which stays. */
  readonly act: () => Promise<unknown>;
}

const question = signal<Question | null>(null);

export function ask(next: Question): void {
  question.value = next;
}

export function Asking(): JSX.Element | null {
  const asked = question.value;
  return asked === null ? null : <Dialog key={asked.title} asked={asked} />;
}

function Dialog({ asked }: { asked: Question }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const close = (): void => {
    question.value = null;
  };
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const act = async (): Promise<void> => {
    setBusy(true);
    try {
      await asked.act();
      close();
    } catch (error) {
      setError(textOf(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="asked">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <h3 id="asked">{asked.title}</h3>
        <div>{asked.text}</div>
        <Fault text={problem} />
        <div class="buttons">
          <button type="button" class="button" onClick={close}>
            Leave it
          </button>
          <button
            type="submit"
            class={`button ${asked.isDanger === true ? 'grave' : 'chief'}`}
            disabled={isBusy}
            autofocus
          >
            {asked.verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
