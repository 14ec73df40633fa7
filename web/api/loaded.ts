// Reads something from the API for a view: what came, what went wrong, and reading it again. Late answers to old questions are dropped.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, textOf } from './request.js';

export interface Loaded<Value> {
  /** Undefined until something came. While it is read anew the value of before stays. */
  readonly value: Value | undefined;
  readonly problem: string;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  readonly key: string;
  readonly value: Value | undefined;
  readonly problem: string;
  readonly isLoading: boolean;
}

/**
 * `key` says what is read: when it changes, it is read anew, after `waitMs` without a further change. `everyMs` reads again and again
 * while the page is seen.
 */
export function useLoaded<Value>(
  key: string,
  read: (signal: AbortSignal) => Promise<Value>,
  { waitMs = 0, everyMs = 0, keepOld = false }: { waitMs?: number; everyMs?: number; keepOld?: boolean } = {},
): Loaded<Value> {
  const [state, setState] = useState<State<Value>>({ key, value: undefined, problem: '', isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const reload = useCallback(() => setTurn((before) => before + 1), []);

  useEffect(() => {
    const abort = new AbortController();
    // Looking again after a while is nothing to tell anybody of.
    const load = async (isAgain: boolean): Promise<void> => {
      if (!isAgain) setState((before) => ({ ...before, isLoading: true }));
      try {
        const value = await latest.current(abort.signal);
        if (!abort.signal.aborted) setState({ key, value, problem: '', isLoading: false });
      } catch (error) {
        if (abort.signal.aborted || isAbort(error)) return;
        setState((before) => ({
          key,
          value: before.key === key ? before.value : undefined,
          problem: textOf(error),
          isLoading: false,
        }));
      }
    };
    const wait = setTimeout(() => void load(false), waitMs);
    const again = everyMs > 0 ? setInterval(() => document.hidden || void load(true), everyMs) : undefined;
    return () => {
      clearTimeout(wait);
      clearInterval(again);
      abort.abort();
    };
  }, [key, turn, waitMs, everyMs]);

  // What belongs to another key is not shown as the answer to this one, unless that is wanted.
  const value = state.key === key || keepOld ? state.value : undefined;
  return { value, problem: state.key === key ? state.problem : '', isLoading: state.isLoading, reload };
}
