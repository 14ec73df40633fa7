// The live picture of the cluster: opens the admin websocket, keeps the picture up to date, and connects again when it breaks.

import { effect, signal } from '@preact/signals';
import { applyDelta, CLOSE, mayReconnect, type Picture, type ServerMessage } from '../../src/admin/protocol.js';
import { session, signOut } from '../session.js';

/** `away` is followed by another try. */
export type Link = 'closed' | 'connecting' | 'live' | 'away';

export const picture = signal<Picture | null>(null);
export const link = signal<Link>('closed');
/** What the node said when it closed the socket. */
export const linkError = signal('');

/** The cluster's clock minus this machine's. */
let clockAheadMs = 0;

/** Now by the cluster's clock, as far as it is known. Epoch ms. */
export function clusterNowMs(): number {
  return Date.now() + clockAheadMs;
}

const RETRY_MS = { first: 300, most: 5_000 };
/** A node says something each second. */
const SILENCE_MS = 4_000;

let openFor = '';
let socket: WebSocket | null = null;
/** Of the last message that counts; null while a snapshot is waited for. */
let seq: number | null = null;
let tries = 0;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;

/** Connects whenever an administrator is signed in, and disconnects when not. */
export function keepLive(): void {
  effect(() => {
    const token = session.value?.role === 'admin' ? session.value.token : '';
    // Another tenant is no reason to begin anew.
    if (token === openFor) return;
    openFor = token;
    close();
    if (token !== '') open(token);
  });
}

function close(): void {
  clearTimeout(retry);
  clearTimeout(silence);
  const old = socket;
  socket = null;
  old?.close();
  picture.value = null;
  seq = null;
  linkError.value = '';
  link.value = 'closed';
  tries = 0;
}

function open(token: string): void {
  link.value = 'connecting';
  const address = new URL('/admin/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const mine = new WebSocket(address);
  socket = mine;
  mine.addEventListener('open', () => mine.send(JSON.stringify({ type: 'hello', token })));
  mine.addEventListener('message', ({ data }) => {
    if (socket === mine) take(mine, JSON.parse(String(data)) as ServerMessage);
  });
  mine.addEventListener('close', ({ code, reason }) => {
    if (socket === mine) lost(token, code, reason);
  });
  watch(mine);
}

function take(from: WebSocket, message: ServerMessage): void {
  watch(from);
  if (message.type === 'snapshot') {
    ({ seq } = message);
    show(message.picture);
    link.value = 'live';
    linkError.value = '';
    tries = 0;
    return;
  }
  const before = picture.peek();
  if (before === null || seq === null) return;
  if (message.seq !== seq + 1) {
    // Something was missed: nothing counts until the whole picture comes again.
    seq = null;
    from.send(JSON.stringify({ type: 'resync' }));
    return;
  }
  ({ seq } = message);
  show(applyDelta(before, message));
}

function show(next: Picture): void {
  clockAheadMs = next.atMs - Date.now();
  picture.value = next;
}

/** A connection that says nothing is as good as none. */
function watch(mine: WebSocket): void {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (socket === mine) {
      mine.close();
      lost(openFor, 1006, 'nothing was heard of the node');
    }
  }, SILENCE_MS);
}

function lost(token: string, code: number, reason: string): void {
  clearTimeout(silence);
  socket = null;
  seq = null;
  linkError.value = reason === '' ? `closed with code ${code}` : reason;
  if (!mayReconnect(code)) {
    link.value = 'closed';
    if (code === CLOSE.unauthorized || code === CLOSE.forbidden) signOut(reason);
    return;
  }
  link.value = 'away';
  tries += 1;
  const waitMs = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** (tries - 1));
  clearTimeout(retry);
  retry = setTimeout(() => open(token), waitMs * (0.7 + 0.6 * Math.random()));
}
