// Says that what is shown is from before, while the node cannot be heard.

import type { JSX } from 'preact';
import { link, linkFault } from '../live/socket.js';
import { Fault } from './notices.js';

export function Lost(): JSX.Element | null {
  if (link.value !== 'away' && linkFault.value === '') return null;
  const why = linkFault.value === '' ? '' : `: ${linkFault.value}`;
  return (
    <div class="lost">
      <Fault text={`The connection was lost${why}. What is shown is from before; trying again.`} />
    </div>
  );
}
