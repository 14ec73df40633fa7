// A destination in little room: the method, the host, the path.

import type { JSX } from 'preact';

/** Not by URL.canParse, which is wrong about some hosts in some engines. */
function parse(url: string): URL | null {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

export function Destination({ url, method }: { url: string; method?: string }): JSX.Element {
  const parsed = parse(url);
  return (
    <span class="destination" title={url}>
      {method !== undefined && <span class="method">{method}</span>}
      {parsed === null ? url : parsed.host}
      {parsed !== null && <span class="quiet">{`${parsed.pathname}${parsed.search}`.replace(/^\/$/, '')}</span>}
    </span>
  );
}
