// Asks PostgreSQL what a statement takes and returns, without running it: Parse and Describe of the wire protocol.

import type pg from 'pg';

export interface DescribedColumn {
  readonly name: string;
  /** The table and the column of it that it comes from; 0 for an expression. */
  readonly tableID: number;
  readonly columnID: number;
  readonly dataTypeID: number;
}

export interface Description {
  /** Types of the parameters, $1 first. */
  readonly parameters: readonly number[];
  /** None for a statement that returns nothing. */
  readonly columns: readonly DescribedColumn[];
}

export function describe(client: pg.Client, text: string): Promise<Description> {
  return new Promise((resolve, reject) => {
    client.query(new Describing(text, resolve, reject));
  });
}

/** What a client runs: it calls these as the server's answers come. */
class Describing {
  readonly #text: string;
  readonly #resolve: (description: Description) => void;
  readonly #reject: (error: Error) => void;
  #parameters: readonly number[] = [];
  #columns: readonly DescribedColumn[] = [];
  /** Called by the client when all has been answered, whatever was. */
  callback: (() => void) | undefined;

  constructor(text: string, resolve: (description: Description) => void, reject: (error: Error) => void) {
    this.#text = text;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: pg.Connection): void {
    connection.once('parameterDescription', ({ dataTypeIDs }: { readonly dataTypeIDs: readonly number[] }) => {
      this.#parameters = dataTypeIDs;
    });
    connection.parse({ name: '', text: this.#text, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  handleRowDescription({ fields }: { readonly fields: readonly DescribedColumn[] }): void {
    this.#columns = fields;
  }

  handleError(error: Error): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve({ parameters: this.#parameters, columns: this.#columns });
  }
}
