/** `npm start` as a cluster: nodes behind one address, one killed and started again, Ctrl-C, and what an interrupted run leaves. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { identify } from '../../cluster/system/processes.js';
import { isFree } from '../../cluster/system/ports.js';
import { LocalCluster, pidsOf, type Launcher } from '../kit/launcher.js';
import { startSink } from '../kit/sink.js';
import { stablePort } from '../kit/stable-port.js';

const START_MS = 120_000;
const SHARDS = 12;

interface NodesAnswer {
  readonly nodes: readonly { name: string; id: string; shards: number; draining: boolean }[];
}

const folder = (name: string): string => path.join(inject('runDir'), `home-${name}`);
const isGone = (pid: number): boolean => identify(pid) === undefined;

describe(
  'a cluster of three',
  () => {
    let home: LocalCluster;
    let launcher: Launcher;
    let port: number;

    beforeAll(async () => {
      port = await stablePort();
      home = new LocalCluster(folder('three'), { CARILLON_PORT: String(port), CARILLON_SHARDS: String(SHARDS) });
      launcher = await home.launch();
      await launcher.ready;
    }, START_MS);
    afterAll(() => home.remove());

    const members = async (): Promise<NodesAnswer['nodes']> =>
      (JSON.parse((await home.carillon('nodes', '--json')).out || '{"nodes":[]}') as NodesAnswer).nodes;
    const names = async (): Promise<string[]> => (await members()).map(({ name }) => name).sort();
    const states = (): Record<string, string> =>
      Object.fromEntries(home.cluster()?.nodes.map(({ name, state }) => [name, state]) ?? []);
    const node = (name: string) => home.cluster()!.nodes.find((one) => one.name === name)!;
    /** What all running nodes agree on; each knows what it read at its last heartbeat. */
    const shares = async (): Promise<number[]> => {
      const { adminToken } = JSON.parse(readFileSync(path.join(home.home, 'connection.json'), 'utf8')) as {
        adminToken: string;
      };
      const running = home.cluster()?.nodes.filter(({ state }) => state === 'running') ?? [];
      const seen = await Promise.all(
        running.map(async ({ url }) => {
          const answer = await fetch(`${url}/admin/nodes`, { headers: { authorization: `Bearer ${adminToken}` } });
          const { nodes } = (await answer.json()) as NodesAnswer;
          return nodes.map(({ shards }) => shards).sort();
        }),
      );
      return seen.every((one) => one.join() === seen[0]?.join()) ? (seen[0] ?? []) : [];
    };

    it('has three nodes behind one address, and says so in files that only their owner reads', async () => {
      // Whoever answers may have looked a heartbeat before the last one joined.
      await expect.poll(names, { timeout: 20_000 }).toEqual(['node-1', 'node-2', 'node-3']);
      expect(states()).toEqual({ 'node-1': 'running', 'node-2': 'running', 'node-3': 'running' });
      const cluster = home.cluster()!;
      expect(cluster.loadBalancer).toMatchObject({ port, url: `http://127.0.0.1:${port}` });
      expect(cluster.launcher.pid).toBe(launcher.pid);
      expect(pidsOf(cluster)).toHaveLength(6);
      expect(pidsOf(cluster).filter(isGone)).toEqual([]);
      for (const name of ['cluster.json', 'connection.json', 'run.json']) {
        expect(statSync(path.join(home.home, name)).mode & 0o777).toBe(0o600);
      }
      const connection = JSON.parse(readFileSync(path.join(home.home, 'connection.json'), 'utf8')) as {
        consoleUrl: string;
      };
      expect(Object.keys(connection).sort()).toEqual(
        ['adminToken', 'consoleUrl', 'currentSigningKey', 'nextSigningKey', 'token', 'url'].sort(),
      );
      expect(launcher.output()).toContain(`Console        ${connection.consoleUrl}`);
      expect(await (await fetch(connection.consoleUrl)).text()).toContain('<title>Carillon</title>');
    });

    // Issue 11, A9.
    it.runIf(process.getuid?.() === 0)('keeps root for nobody but the launcher', () => {
      const users = pidsOf(home.cluster()!).map((pid) => {
        const status = readFileSync(`/proc/${pid}/status`, 'latin1');
        return /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
      });
      expect(users).toHaveLength(6);
      expect(users.flat()).not.toContain('0');
      expect(new Set(users.flat()).size).toBe(1);
    });

    it('shares the shards out, each to one node', async () => {
      await expect.poll(shares, { timeout: 40_000 }).toEqual([4, 4, 4]);
      // Another node may answer, which saw it a heartbeat later.
      await expect
        .poll(async () => (await home.carillon('shards')).out, { timeout: 20_000, interval: 500 })
        .toMatch(/^NODE +COUNT +SHARDS +EPOCHS +ID\nnode-1 +4 .*\nnode-2 +4 .*\nnode-3 +4 .*\n$/);
    });

    it('delivers, and knows the caller behind the load balancer', async () => {
      const sink = await startSink();
      const { out, err } = await home.carillon('publish', `${sink.url}/hello`, '--body', 'hi', '--json');
      expect(err).toBe('');
      const { messageId } = JSON.parse(out) as { messageId: string };
      const [call] = await sink.waitFor(1, (candidate) => candidate.messageId === messageId, 20_000);
      expect(call!.headers['upstash-caller-ip']).toBe('127.0.0.1');
      await sink.close();
    });

    it('writes a log for each node, and one stream with their names', () => {
      for (const name of ['node-1', 'node-2', 'node-3']) {
        expect(readFileSync(node(name).log, 'utf8')).toContain('"msg":"ready"');
        expect(launcher.output()).toMatch(new RegExp(`^${name} .*ready`, 'm'));
      }
    });

    it('leaves a node that was killed down, and goes on with the others', async () => {
      const { pid } = node('node-2');
      process.kill(pid, 'SIGKILL');
      await expect.poll(states, { timeout: 10_000 }).toMatchObject({ 'node-2': 'ended', 'node-1': 'running' });
      await expect
        .poll(() => launcher.output())
        .toContain('node-2 ended (signal SIGKILL) and stays down until: npx carillon node start node-2');
      await expect.poll(names, { timeout: 40_000 }).toEqual(['node-1', 'node-3']);
      await expect.poll(shares, { timeout: 40_000 }).toEqual([6, 6]);
      const { out } = await home.carillon('nodes');
      expect(out).toMatch(/^node-2 +ended/m);
      expect(node('node-2').pid).toBe(pid);
    });

    it('starts it again when it is asked to, as another process', async () => {
      const before = node('node-2').pid;
      const started = await home.carillon('node', 'start', 'node-2');
      expect(started.err).toBe('');
      expect(started.out).toMatch(/^node-2 is ready \(process \d+, http:\/\/127.0.0.1:\d+\)\n$/);
      expect(node('node-2').state).toBe('running');
      expect(node('node-2').pid).not.toBe(before);
      await expect.poll(names, { timeout: 40_000 }).toEqual(['node-1', 'node-2', 'node-3']);
      const again = await home.carillon('node', 'start', 'node-2');
      expect(again).toMatchObject({ code: 1, out: '' });
      expect(again.err).toMatch(/^carillon: node-2 runs \(process \d+\)\n$/);
      expect((await home.carillon('node', 'start', 'node-7')).err).toContain('only node-1, node-2, node-3');
    });

    it('starts a node again that ended by itself', async () => {
      const before = node('node-1').pid;
      // A process that crashes ends by this signal.
      process.kill(before, 'SIGABRT');
      await expect
        .poll(() => launcher.output(), { timeout: 10_000 })
        .toMatch(/^node-1 ended by itself \(signal SIGABRT\); it is started again in 0.5 s/m);
      await expect.poll(() => node('node-1').state, { timeout: 10_000 }).toBe('running');
      await expect.poll(names, { timeout: 40_000 }).toEqual(['node-1', 'node-2', 'node-3']);
      expect(node('node-1').pid).not.toBe(before);
    });

    it('drains a node by its name', async () => {
      await expect.poll(shares, { timeout: 40_000 }).toEqual([4, 4, 4]);
      const drained = await home.carillon('node', 'drain', 'node-3');
      expect(drained.out).toMatch(/^node-3 hands its 4 shards over/);
      await expect.poll(shares, { timeout: 40_000 }).toEqual([0, 6, 6]);
      expect((await home.carillon('nodes')).out).toMatch(/^node-3 +draining +0 /m);
      expect((await home.carillon('node', 'drain', 'node-9')).err).toContain('there is no node "node-9"');
    });

    it('starts HAProxy again when it ends, and tells its new process', async () => {
      const { pid } = home.cluster()!.loadBalancer!;
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => home.cluster()!.loadBalancer!.pid, { timeout: 20_000 }).not.toBe(pid);
      await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    });

    it('stops everything at Ctrl-C, and takes its files away', async () => {
      const pids = pidsOf(home.cluster()!);
      process.kill(launcher.pid, 'SIGINT');
      expect(await launcher.ended).toBe(0);
      expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
      for (const name of ['cluster.json', 'connection.json', 'run.json']) {
        expect(existsSync(path.join(home.home, name))).toBe(false);
      }
      expect(await isFree(port)).toBe(true);
    });
  },
  START_MS,
);

describe(
  'a run that was interrupted',
  () => {
    it('leaves nodes and a load balancer that the next start finds and stops', async () => {
      const home = new LocalCluster(folder('interrupted'), {
        CARILLON_PORT: String(await stablePort()),
        CARILLON_SHARDS: String(SHARDS),
      });
      try {
        const first = await home.launch('--nodes', '2');
        await first.ready;
        const before = home.cluster()!;
        process.kill(first.pid, 'SIGKILL');
        await first.ended;
        const second = await home.launch('--single');
        await second.ready;
        const ours = [before.loadBalancer!.pid, ...before.nodes.map(({ pid }) => pid)];
        expect(ours.filter((pid) => !isGone(pid))).toEqual([]);
        const single = home.cluster()!;
        expect(single.loadBalancer).toBeNull();
        expect(single.nodes).toMatchObject([{ name: 'node-1', url: before.loadBalancer!.url, state: 'running' }]);
        process.kill(second.pid, 'SIGTERM');
        expect(await second.ended).toBe(0);
      } finally {
        await home.remove();
      }
    });
  },
  START_MS,
);

describe(
  'a start that cannot be',
  () => {
    const refused = async (
      args: string[],
      environment: Record<string, string>,
    ): Promise<{ code: number | null; text: string }> => {
      const home = new LocalCluster(environment.CARILLON_HOME ?? folder('refused'), environment);
      try {
        const launcher = await home.launch(...args);
        const code = await launcher.ended;
        return { code, text: launcher.output().trim() };
      } finally {
        await home.remove();
      }
    };

    it('names the data folder that is a file', async () => {
      const file = folder('file');
      writeFileSync(file, '');
      const { code, text } = await refused([], { CARILLON_HOME: file });
      expect(text).toBe(`CARILLON_HOME is ${file}, which cannot be the data folder (it is a file or lies below one)`);
      expect(code).toBe(1);
    });

    it.each([
      [['--nodes', '0'], {}, /^--nodes is "0", expected a whole number from 1 to 32\n\nnpm start -- /],
      [['--single', '--nodes', '2'], {}, /^--single and --nodes exclude each other/],
      [['--node', '2'], {}, /^Unknown option '--node'/],
      [
        [],
        { CARILLON_DATABASE_URL: 'mysql://u:secret@h/x' },
        /^configuration: CARILLON_DATABASE_URL cannot be read, [^\n]*$/,
      ],
      [[], { CARILLON_PORT: '0' }, /^CARILLON_PORT is 0, expected a port from 1 to 65535$/],
      [[], { CARILLON_HOST: '192.0.2.1' }, /^CARILLON_HOST is 192.0.2.1, which is no address of this machine/],
    ])('names what is wrong with %j %j', async (args, environment, expected) => {
      const { code, text } = await refused(args, environment);
      expect(text).toMatch(expected);
      expect(code).toBe(1);
    });

    it('shows the line by which a node says why it cannot start, and stops what it had started', async () => {
      const away = await stablePort();
      const { code, text } = await refused(['--nodes', '1'], {
        CARILLON_PORT: String(await stablePort()),
        CARILLON_REDIS_URL: inject('redisUrl'),
        CARILLON_DATABASE_URL: `postgres://u:secret@127.0.0.1:${away}/x`,
      });
      expect(text).toMatch(
        new RegExp(
          `node-1 could not start: CARILLON_DATABASE_URL: PostgreSQL at 127.0.0.1:${away} cannot be reached: .*`,
        ),
      );
      expect(text).not.toContain('secret');
      expect(text).not.toMatch(/^ +at /m);
      expect(code).toBe(1);
    });
  },
  START_MS,
);
