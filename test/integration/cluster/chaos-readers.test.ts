// Issue 12: the readers of the chaos script ask for lists that a node has; ones that it does not know would hog nothing.

import { expect, it } from 'vitest';
import { hogReads } from '../../../scripts/chaos/hog-reads.js';
import { ADMIN_TOKEN, TOKEN } from '../../../scripts/chaos/node-settings.js';
import { startTestNode } from '../../kit/node.js';

it('readers that hog are answered, or asked to come again, and never refused otherwise', async () => {
  const node = await startTestNode({ CARILLON_TOKEN: TOKEN, CARILLON_ADMIN_TOKEN: ADMIN_TOKEN });
  try {
    expect(await hogReads(node.url, 300)).toMatch(
      /^24 readers, [1-9]\d* lists answered, \d+ asked to come again, 0 failed$/,
    );
  } finally {
    await node.stop();
  }
});
