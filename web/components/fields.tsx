// The fields that forms are made of; each has its label, and what is written in it belongs to the form.

import type { JSX } from 'preact';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly hint?: string;
  readonly isMono?: boolean;
  readonly isRequired?: boolean;
  readonly isWide?: boolean;
  readonly isOff?: boolean;
  readonly hasFocus?: boolean;
}

export function Field(props: FieldProps): JSX.Element {
  const {
    label,
    value,
    set,
    hint,
    isMono = false,
    isRequired = false,
    isWide = false,
    isOff = false,
    hasFocus = false,
  } = props;
  return (
    <label class={`field ${isWide ? 'wide' : ''}`}>
      <span>{label}</span>
      <input
        value={value}
        class={isMono ? 'mono' : ''}
        placeholder={hint}
        required={isRequired}
        disabled={isOff}
        autofocus={hasFocus}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => set(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  /** Values, with words for them where they are not words themselves. */
  readonly choices: readonly (string | readonly [value: string, word: string])[];
}

export function Choice({ label, value, set, choices }: ChoiceProps): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {choices.map((choice) => {
          const [known, word] = typeof choice === 'string' ? [choice, choice] : choice;
          return (
            <option key={known} value={known}>
              {word}
            </option>
          );
        })}
      </select>
    </label>
  );
}

interface AreaProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly note: string;
}

export function Area({ label, value, set, note }: AreaProps): JSX.Element {
  return (
    <label class="field wide">
      <span>{label}</span>
      <textarea class="mono" value={value} spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />
      <small>{note}</small>
    </label>
  );
}

/** What is written in a form's field of this name, without blanks around it. */
export function writtenIn(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}
