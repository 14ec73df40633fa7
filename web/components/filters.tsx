// Filters above a list. What is chosen stands in the address, so that a list can be linked and gone back to.

import type { JSX, TargetedInputEvent } from 'preact';
import { route, setQuery } from '../route.js';

export function filterOf(name: string): string {
  return route.value.query.get(name) ?? '';
}

interface TextProps {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly isSearch?: boolean;
}

export function TextFilter({ name, label, placeholder, isSearch = false }: TextProps): JSX.Element {
  const shared = {
    value: filterOf(name),
    placeholder,
    spellcheck: false,
    autocomplete: 'off',
    onInput: (event: TargetedInputEvent<HTMLInputElement>) =>
      setQuery({ [name]: event.currentTarget.value.trimStart() }),
  };
  return (
    <label class={`filter ${isSearch ? 'wide' : ''}`}>
      <span>{label}</span>
      {isSearch ? <input type="search" {...shared} /> : <input type="text" {...shared} />}
    </label>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  /** Value and word; the value of the first is ''. */
  readonly choices: readonly (readonly [value: string, word: string])[];
}

export function ChoiceFilter({ name, label, choices }: ChoiceProps): JSX.Element {
  return (
    <label class="filter">
      <span>{label}</span>
      <select value={filterOf(name)} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        {choices.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
