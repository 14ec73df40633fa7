// Creates a schedule or edits one; the next ten times stand beside it as one types, and what saving will do above the button.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/loaded.js';
import { textOf } from '../../api/request.js';
import { getSchedule, listSchedules, saveSchedule } from '../../api/schedules.js';
import { Field, Choice, Area } from '../../components/fields.js';
import { Fault, say } from '../../components/notices.js';
import { go, href } from '../../route.js';
import { badHeaderLine, draftOf, EMPTY, settingsOf, type Draft } from './draft.js';
import { Preview } from './preview.js';

/** From the last key to the question whether the id is taken. */
const TYPING_MS = 250;

export function NewSchedule(): JSX.Element {
  return (
    <Frame title="New schedule" back={['schedules']} word="Schedules">
      <Form first={EMPTY} generation={0} />
    </Frame>
  );
}

export function EditSchedule({ id }: { id: string }): JSX.Element {
  const { value, problem: fault } = useLoaded(id, (signal) => getSchedule(id, signal));
  return (
    <Frame title={`Edit ${id}`} back={['schedules', id]} word={id}>
      <Fault text={fault} />
      {value !== undefined && (
        <Form
          first={draftOf(value)}
          generation={value.generation}
          isBinary={value.bodyBase64 !== undefined}
          redact={value.redact ?? ''}
        />
      )}
    </Frame>
  );
}

interface FrameProps {
  readonly title: string;
  readonly back: readonly string[];
  readonly word: string;
  readonly children: preact.ComponentChildren;
}

function Frame({ title, back, word, children }: FrameProps): JSX.Element {
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={href(back)}>{word}</a>
      </nav>
      <div class="title">
        <h1>{title}</h1>
      </div>
      {children}
    </>
  );
}

interface FormProps {
  readonly first: Draft;
  /** 0: it is a new one. */
  readonly generation: number;
  readonly isBinary?: boolean;
  readonly redact?: string;
}

function Form({ first, generation, isBinary = false, redact = '' }: FormProps): JSX.Element {
  const [draft, setDraft] = useState(first);
  const [problem, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const isNew = generation === 0;
  const set = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const save = async (): Promise<void> => {
    const bad = badHeaderLine(draft.headers);
    if (bad !== '') {
      setError(`"${bad}" is no header: expected a name, a colon and a value`);
      return;
    }
    setBusy(true);
    setError('');
    try {
      const { scheduleId } = await saveSchedule(
        draft.destination.trim(),
        settingsOf(draft, isNew ? null : first),
        draft.body,
      );
      say(isNew ? `${scheduleId} is made` : `${scheduleId} is changed`);
      go(['schedules', scheduleId]);
    } catch (error) {
      setError(textOf(error));
      setBusy(false);
    }
  };
  return (
    <form
      class="two form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <div class="stack">
        <section class="sheet pad fields" aria-label="When and where">
          <Field
            label="Expression"
            value={draft.cron}
            set={(cron) => set({ cron })}
            isMono
            isRequired
            hasFocus
            hint="0 2 * * *"
          />
          <Zone value={draft.timeZone} set={(timeZone) => set({ timeZone })} />
          <Field
            label="Destination"
            value={draft.destination}
            set={(destination) => set({ destination })}
            isMono
            isRequired
            isWide
            hint="https://example.com/report"
          />
          <Choice
            label="Method"
            value={draft.method}
            set={(method) => set({ method })}
            choices={['POST', 'GET', 'PUT', 'PATCH', 'DELETE']}
          />
          {isNew && <Field label="Id" value={draft.id} set={(id) => set({ id })} isMono hint="made up when empty" />}
        </section>
        <section class="sheet pad fields" aria-label="What is sent">
          <Area label="Body" value={draft.body} set={(body) => set({ body })} note={bodyNote(isBinary, redact)} />
          <Area
            label="Headers"
            value={draft.headers}
            set={(headers) => set({ headers })}
            note={
              /header/i.test(redact) && !isNew
                ? 'Redacted ones are shown as hashes; all are kept as they are unless you change something here.'
                : 'One in each line, as in Content-Type: application/json'
            }
          />
        </section>
        <More draft={draft} set={set} isOpen={!isNew} />
      </div>
      <div class="stack beside">
        <Preview cron={draft.cron} timeZone={draft.timeZone} />
        <section class="sheet pad stack" aria-label="Save">
          <WhatItDoes draft={draft} generation={generation} />
          <Fault text={problem} />
          <div class="buttons">
            <button class="button chief" type="submit" disabled={isBusy}>
              {isNew ? 'Create it' : 'Save it'}
            </button>
            <a class="button" href={href(isNew ? ['schedules'] : ['schedules', draft.id])}>
              Leave
            </a>
          </div>
        </section>
      </div>
    </form>
  );
}

function bodyNote(isBinary: boolean, redact: string): string {
  if (isBinary) return 'It is no text and cannot be shown; it is kept as it is unless you write another.';
  if (/\bbody\b/i.test(redact))
    return 'It is redacted: a hash is shown. The body itself is kept unless you write another.';
  return 'Sent with every occurrence, byte for byte.';
}

function Zone({ value, set }: { value: string; set: (zone: string) => void }): JSX.Element {
  return (
    <label class="field">
      <span>Zone</span>
      <input
        list="zones"
        value={value}
        placeholder="UTC"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => set(event.currentTarget.value.trim())}
      />
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </label>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly set: (changes: Partial<Draft>) => void;
  readonly isOpen: boolean;
}

function More({ draft, set, isOpen }: PartProps): JSX.Element {
  return (
    <details class="sheet more" open={isOpen}>
      <summary>Policies, retries, bounds, labels, callbacks</summary>
      <div class="pad fields">
        <Choice
          label="When one was missed"
          value={draft.misfire}
          set={(misfire) => set({ misfire: misfire as Draft['misfire'] })}
          choices={[
            ['once', 'send the latest'],
            ['skip', 'leave them out'],
            ['all', 'send all of them'],
          ]}
        />
        <Field
          label="Not older than"
          value={draft.misfireWindow}
          set={(misfireWindow) => set({ misfireWindow })}
          hint="1d"
          isOff={draft.misfire !== 'all'}
        />
        <Choice
          label="When the one before still runs"
          value={draft.overlap}
          set={(overlap) => set({ overlap: overlap as Draft['overlap'] })}
          choices={[
            ['allow', 'run both'],
            ['skip', 'leave it out'],
            ['queue', 'wait for it'],
          ]}
        />
        <Field label="Spread over" value={draft.window} set={(window) => set({ window })} hint="none; 10m" />
        <Field label="Begins" value={draft.start} set={(start) => set({ start })} hint="2030-01-01T00:00:00Z" />
        <Field label="Ends" value={draft.end} set={(end) => set({ end })} hint="2030-12-31T23:59:59Z" />
        <Field label="Retries" value={draft.retries} set={(retries) => set({ retries })} hint="as configured" />
        <Field
          label="Retry delay, ms"
          value={draft.retryDelay}
          set={(retryDelay) => set({ retryDelay })}
          isMono
          hint="1000 * pow(2, retried)"
        />
        <Field label="Timeout" value={draft.timeout} set={(timeout) => set({ timeout })} hint="30s" />
        <Field label="Delay after its time" value={draft.delay} set={(delay) => set({ delay })} hint="none; 5m" />
        <Field label="Labels" value={draft.labels} set={(labels) => set({ labels })} hint="night, billing" />
        <Field
          label="Idempotency key"
          value={draft.key}
          set={(key) => set({ key })}
          isMono
          hint="invoice:{yyyy-MM}:acme"
        />
        <Field label="Callback" value={draft.callback} set={(callback) => set({ callback })} isMono hint="https://…" />
        <Field
          label="On failure"
          value={draft.failureCallback}
          set={(failureCallback) => set({ failureCallback })}
          isMono
          hint="https://…"
        />
      </div>
    </details>
  );
}

function WhatItDoes({ draft, generation }: { draft: Draft; generation: number }): JSX.Element {
  const id = draft.id.trim();
  const isTaken = useLoaded(
    `${generation} ${id}`,
    (signal) => (generation > 0 || id === '' ? Promise.resolve(false) : exists(id, signal)),
    { waitMs: TYPING_MS },
  );
  if (generation > 0) {
    return (
      <p>
        Changes <strong>{draft.id}</strong> to generation {generation + 1}. What was planned by the one before does not
        fire any more; what it has sent already goes on.
      </p>
    );
  }
  if (isTaken.value === true) {
    return (
      <p class="notice warn">
        There is a schedule {id} already: saving replaces it, and what you leave empty here is gone from it.
      </p>
    );
  }
  return <p>Makes a new schedule, which fires from its next time on.</p>;
}

/** An id sorts before all that begin with it. */
async function exists(id: string, signal: AbortSignal): Promise<boolean> {
  const { items } = await listSchedules({ idPrefix: id }, { cursor: '', count: 1, signal });
  return items[0]?.scheduleId === id;
}
