// The foot of a list: which page this is, and the ones beside it.

import type { JSX } from 'preact';
import type { Pages } from '../api/pages.js';

export function Pager<Item>({ pages, what }: { pages: Pages<Item>; what: string }): JSX.Element {
  const count = pages.value?.items.length ?? 0;
  return (
    <footer class="pager">
      <span class="quiet" role="status">
        {pages.isLoading ? 'Looking…' : `Page ${pages.number}, ${count} ${what}`}
        {!pages.isLoading && count === 0 && pages.next !== null && ': none so far, there is more to look through'}
      </span>
      <div class="buttons">
        <button type="button" class="button small plain" onClick={pages.reload}>
          Refresh
        </button>
        <button
          type="button"
          class="button small"
          disabled={pages.previous === null}
          onClick={() => pages.previous?.()}
        >
          Previous
        </button>
        <button type="button" class="button small" disabled={pages.next === null} onClick={() => pages.next?.()}>
          {count === 0 && pages.next !== null ? 'Look further' : 'Next'}
        </button>
      </div>
    </footer>
  );
}
