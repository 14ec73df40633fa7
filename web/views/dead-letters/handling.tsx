// Retrying or deleting dead letters: says how many and what happens, then shows how far it is, and can be stopped.

import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { handleDeadLetters, type Handling } from '../../api/dead-letters.js';
import { textOf } from '../../api/request.js';
import { Fault, say } from '../../components/notices.js';
import { amount } from '../../components/time.js';

export interface Task {
  readonly what: Handling['what'];
  readonly deadLetters: Handling['deadLetters'];
  /** How many there are; null when that is not known. */
  readonly count: number | null;
  /** Whose they are, in words: “of this destination”. */
  readonly which: string;
  readonly done: () => void;
}

const task = signal<Task | null>(null);

export function handle(next: Task): void {
  task.value = next;
}

export function HandlingDialog(): JSX.Element | null {
  const current = task.value;
  return current === null ? null : <Dialog task={current} />;
}

type Phase = 'asking' | 'working' | 'failed';

function Dialog({ task: { what, deadLetters: letters, count, which, done } }: { task: Task }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const abort = useRef(new AbortController());
  const [phase, setPhase] = useState<Phase>('asking');
  const [handled, setHandled] = useState(0);
  const [problem, setError] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    abort.current.abort();
    task.value = null;
    if (phase !== 'asking') done();
  };
  const work = async (): Promise<void> => {
    setPhase('working');
    try {
      const total = await handleDeadLetters({
        what,
        deadLetters: letters,
        onProgress: setHandled,
        signal: abort.current.signal,
      });
      say(
        `${amount(total)} ${total === 1 ? 'dead letter' : 'dead letters'} ${what === 'retry' ? 'sent again' : 'deleted'}`,
      );
      task.value = null;
      done();
    } catch (error) {
      setError(textOf(error));
      setPhase('failed');
    }
  };
  const verb = what === 'retry' ? 'Send again' : 'Delete';
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="handling">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void work();
        }}
      >
        <h3 id="handling">
          {verb} {count === null ? 'all' : amount(count)} {count === 1 ? 'dead letter' : 'dead letters'} {which}?
        </h3>
        <p>
          {what === 'retry'
            ? 'Each becomes a new message with the same content and key, sent at once with all its retries. What happened stays in the record.'
            : 'They leave the list and cannot be sent again from it. What happened stays in the record.'}
        </p>
        {phase !== 'asking' && (
          <div role="status">
            <progress {...(count === null ? {} : { max: count, value: handled })} aria-label={`${handled} handled`} />
            <p class="quiet">
              {amount(handled)}
              {count !== null && ` of ${amount(count)}`} {what === 'retry' ? 'sent again' : 'deleted'}
            </p>
          </div>
        )}
        <Fault text={problem} />
        <div class="buttons">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            {phase === 'working' ? 'Stop' : 'Leave them'}
          </button>
          {phase !== 'working' && (
            <button type="submit" class={`button ${what === 'retry' ? 'chief' : 'grave'}`} autofocus>
              {phase === 'failed' ? 'Go on' : verb}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
