// A destination in little room: the method, the host, the path.

import type { JSX } from 'preact';

export function Destination({ url, method }: { url: string; method?: string }): JSX.Element {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  return (
    <span class="destination" title={url}>
      {method !== undefined && <span class="method">{method}</span>}
      {parsed === null ? url : parsed.host}
      {parsed !== null && <span class="quiet">{`${parsed.pathname}${parsed.search}`.replace(/^\/$/, '')}</span>}
    </span>
  );
}
