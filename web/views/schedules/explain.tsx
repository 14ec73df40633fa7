// Why did it run, or why not: the API's answer for one moment of one schedule, with what it is based on.

import type { JSX } from 'preact';
import { useLoaded } from '../../api/loaded.js';
import { explain, type Explanation } from '../../api/schedules.js';
import { writtenIn } from '../../components/fields.js';
import { Fault } from '../../components/notices.js';
import { Exactly, utcText } from '../../components/time.js';
import { href, setQuery } from '../../route.js';

export function Explain({ id, at }: { id: string; at: string }): JSX.Element {
  return (
    <section class="sheet" aria-labelledby="explain">
      <header>
        <h2 id="explain">Explain</h2>
      </header>
      <div class="pad stack">
        <form
          class="explain-ask"
          onSubmit={(event) => {
            event.preventDefault();
            setQuery({ at: writtenIn(event.currentTarget, 'at') });
          }}
        >
          <label class="field">
            <span>Moment</span>
            <input
              key={at}
              name="at"
              class="mono"
              defaultValue={at}
              placeholder="2026-11-30T02:00:00Z"
              spellcheck={false}
              autocomplete="off"
              required
            />
          </label>
          <button class="button" type="submit">
            Explain
          </button>
        </form>
        {at === '' ? (
          <p class="quiet">
            Pick an occurrence above, a point on the line, or write a moment: why it did or did not run then.
          </p>
        ) : (
          <Answer key={at} id={id} at={at} />
        )}
      </div>
    </section>
  );
}

function Answer({ id, at }: { id: string; at: string }): JSX.Element {
  const { value, problem: fault } = useLoaded(`${id} ${at}`, (signal) => explain(id, at, signal));
  if (fault !== '') return <Fault text={fault} />;
  if (value === undefined) return <p class="quiet">Looking…</p>;
  return (
    <div class="explanation" aria-live="polite">
      <p class="verdict" data-verdict={value.verdict}>
        {value.text}
      </p>
      {value.nominal !== null && (
        <p class="quiet">
          The occurrence of <Exactly at={value.nominal} />
        </p>
      )}
      {value.evidence.length > 0 && (
        <ol class="evidence" aria-label="What this is based on">
          {value.evidence.map((item) => (
            <li key={`${item.at ?? ''}${item.text}`}>
              {item.at === null ? <span /> : <time dateTime={item.at}>{utcText(Date.parse(item.at))}</time>}
              <span>{item.text}</span>
            </li>
          ))}
        </ol>
      )}
      <div class="buttons">
        {value.message !== null && (
          <a class="button small" href={href(['messages', value.message])}>
            Its message
          </a>
        )}
        <Beside at={value.before} word="The one before" />
        <Beside at={value.after} word="The one after" />
      </div>
    </div>
  );
}

function Beside({ at, word }: { at: Explanation['before']; word: string }): JSX.Element | null {
  if (at === null) return null;
  return (
    <button type="button" class="button small" onClick={() => setQuery({ at })} title={at}>
      {word}
    </button>
  );
}
