// Names and values of one thing, in two columns; what is false is left out.

import { Fragment, type ComponentChildren, type JSX } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

export function FactList({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== false && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}
