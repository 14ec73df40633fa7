// Says that what is shown is from before, while the node cannot be heard.

import type { JSX } from 'preact';
import { link, linkError } from '../live/socket.js';
import { Fault } from './notices.js';

export function ConnectionLost(): JSX.Element | null {
  if (link.value !== 'away' && linkError.value === '') return null;
  const why = linkError.value === '' ? '' : `: ${linkError.value}`;
  return (
    <div class="lost">
      <Fault text={`The connection was lost${why}. What is shown is from before; trying again.`} />
    </div>
  );
}
