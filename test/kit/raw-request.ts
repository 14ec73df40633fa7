/** Sends requests with their target as given: clients such as fetch would normalise it first. */
import { Agent, request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** One request over a real socket; `target` stands in the request line byte for byte. */
export async function sendRaw(
  base: string,
  method: string,
  target: string,
  { token = null, body = '' }: { token?: string | null; body?: string } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(base);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  if (body !== '') headers['content-length'] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: hostname, port, method, path: target, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
