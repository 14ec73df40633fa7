// Makes one page out of several answers: the node ends an answer when its time for looking is over, with a cursor where it goes on.

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly cursor?: string | undefined;
}

/** `cursor` is '' for the first page; `count`: at most so many. */
export type ReadPage<Item> = (cursor: string, count: number, signal: AbortSignal) => Promise<Page<Item>>;

/** Where a list goes on after a page. Throws when that is where the page began: such a list would never end. */
export function following(cursor: string, next: string | undefined): string | undefined {
  if (next === undefined || next !== cursor) return next;
  throw new Error('The list does not go on: the node gave the same cursor again');
}

/** Reads on until there are `count` items, or nothing follows, or it took `longestMs`: then somebody has to want more. */
export async function gather<Item>(
  read: ReadPage<Item>,
  {
    cursor,
    count,
    longestMs,
    signal,
  }: { readonly cursor: string; readonly count: number; readonly longestMs: number; readonly signal: AbortSignal },
): Promise<Page<Item>> {
  const untilMs = performance.now() + longestMs;
  const items: Item[] = [];
  let next: string | undefined = cursor;
  do {
    const page: Page<Item> = await read(next, count - items.length, signal);
    items.push(...page.items);
    next = following(next, page.cursor);
  } while (next !== undefined && items.length < count && performance.now() < untilMs && !signal.aborted);
  return { items, cursor: next };
}
