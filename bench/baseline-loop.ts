/** The floor, a process of its own: nothing but the calls, `concurrency` at a time. No queue, no record, signed once. */
import { hear, say, startOptions } from './child.js';
import { bodyOf, createPost, signedHeaders } from './signed-post.js';

export interface LoopOptions {
  readonly url: string;
  readonly concurrency: number;
}

const { url, concurrency } = startOptions() as LoopOptions;
const post = createPost(url, concurrency);
const headers = signedHeaders(url, 'msg_', bodyOf(0), null);

async function loop(count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      await post({ ...headers, 'Upstash-Message-Id': `msg_${index}` }, bodyOf(index));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

hear((note) => {
  if (note.kind === 'run') void loop(Number(note.count)).then(() => say({ kind: 'ran' }));
});
say({ kind: 'ready' });
