// What was sent and what came back: headers and bodies, JSON laid out, bytes as they are.

import type { JSX } from 'preact';
import type { HeaderMap } from '../api/answer-types.js';

export function Headers({ headers = {} }: { headers?: HeaderMap | undefined }): JSX.Element | null {
  const all = Object.entries(headers);
  if (all.length === 0) return null;
  return (
    <div class="stack tight">
      <span class="label">Headers</span>
      <pre tabIndex={0}>{all.flatMap(([name, values]) => values.map((value) => `${name}: ${value}`)).join('\n')}</pre>
    </div>
  );
}

interface BytesProps {
  readonly title: string;
  readonly text: string | undefined;
  /** Where it is no text. */
  readonly base64: string | undefined;
}

export function Bytes({ title, text, base64 }: BytesProps): JSX.Element | null {
  if (text === undefined && base64 === undefined) return null;
  return (
    <div class="stack tight">
      <span class="label">
        {title}
        {base64 !== undefined && ' (not text: base64)'}
      </span>
      <pre tabIndex={0}>{text === undefined ? base64 : laidOut(text)}</pre>
    </div>
  );
}

function laidOut(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
