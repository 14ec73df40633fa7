// Reads the tree: who may know whom, who may look at the clock, and what else holds the house together. Fails naming file and fault.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
/** For application code and for tests; a longer file is two. */
const MAX_LINES = 400;
const MAX_TEST_LINES = 500;
const KNOWN_TO_PAGE: readonly string[] = [
  'src/admin/protocol.ts',
  'src/api/message-schemas.ts',
  'src/api/run-schemas.ts',
  'src/api/schedule-schema.ts',
];
/** Written by `npm run sql-types`. */
const GENERATED: readonly string[] = ['src/postgres/statements.ts', 'src/postgres/schema.sql'];

interface Source {
  /** From the root, with slashes. */
  readonly file: string;
  readonly text: string;
}

function filesBelow(folder: string, endings: RegExp): Source[] {
  const absolute = path.join(ROOT, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile() && endings.test(found.name))
    .map((found) => path.relative(ROOT, path.join(found.parentPath, found.name)).split(path.sep).join('/'))
    .filter((file) => !file.includes('node_modules/'))
    .sort()
    .map((file) => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') }));
}

const sources = filesBelow('src', /\.ts$/);
const tests = filesBelow('test', /\.ts$/);
const page = filesBelow('web', /\.tsx?$/);
const tools = [
  ...filesBelow('cli', /\.(ts|mjs)$/),
  ...filesBelow('cluster', /\.ts$/),
  ...filesBelow('scripts', /\.(ts|mjs)$/),
  ...filesBelow('bench', /\.ts$/),
  ...page,
];
const scripts = filesBelow('src', /\.lua$/);
const statements = filesBelow('src', /\.sql$/);

const architecture = readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');

/** What a file imports: for ours the file from the root, for others the package (or `node:` module). */
function importsOf({ file, text }: Source): string[] {
  const found = [...text.matchAll(/^(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm)];
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)];
  return [...found, ...dynamic].map(([, name = '']) => {
    if (name.startsWith('.')) return path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, '.ts');
    return name.startsWith('node:')
      ? name
      : name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/');
  });
}

/** The room of a file of ours: its folder below src, or the file itself for compose, config and main. */
function roomOf(file: string): string | null {
  const match = /^src\/(?:([a-z]+)\/|([a-z]+)\.ts$)/.exec(file);
  return match?.[1] ?? match?.[2] ?? null;
}

/** Who may know whom, besides itself. `domain` is at the bottom, `main` on top; `config` is values that anybody above the stores reads. */
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  settings: [],
  config: ['domain', 'settings'],
  // Ways to wait; whose time it is, compose says.
  time: ['domain'],
  telemetry: ['domain'],
  postgres: ['domain', 'time'],
  redis: ['domain', 'time'],
  delivery: ['domain'],
  intake: ['domain', 'postgres', 'redis'],
  actor: ['domain', 'postgres', 'redis', 'delivery'],
  membership: ['domain', 'postgres', 'redis', 'actor'],
  // The API judges destinations at publish by the rules of delivery, and gives work to the intake.
  api: ['domain', 'config', 'time', 'postgres', 'intake', 'delivery'],
  admin: ['domain', 'time'],
  compose: [
    'domain',
    'config',
    'time',
    'telemetry',
    'postgres',
    'redis',
    'delivery',
    'intake',
    'actor',
    'membership',
    'api',
    'admin',
  ],
  main: ['compose', 'config', 'telemetry', 'domain', 'time'],
};

/** Packages that only some rooms may use. */
const PACKAGE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['redis', 'compose', 'membership'],
  redlock: ['membership'],
  pg: ['postgres'],
  undici: ['delivery'],
  'ipaddr.js': ['delivery'],
  'prom-client': ['telemetry'],
  fastify: ['api'],
  '@fastify/swagger': ['api'],
  '@sinclair/typebox': ['api'],
};

/** Issue 11, A9: what servers and files say reaches a terminal by the screen alone, which neutralises it. */
const MAY_WRITE: readonly string[] = ['cli/io.ts', 'cli/screen.ts'];

const report = (faults: readonly string[]): void => expect(faults, faults.join('\n')).toEqual([]);

describe('imports', () => {
  it('run one way, from main down to the domain', () => {
    report(
      sources.flatMap((source) => {
        const room = roomOf(source.file) ?? '';
        const allowed = MAY_KNOW[room];
        if (allowed === undefined)
          return [`${source.file} lies in no known room: give "${room}" its place in MAY_KNOW`];
        return importsOf(source)
          .filter((name) => name.startsWith('src/') || name.includes('../'))
          .map((name) => [name, roomOf(name)] as const)
          .filter(([, known]) => known !== room && (known === null || !allowed.includes(known)))
          .map(([name]) => `${source.file} imports ${name}`);
      }),
    );
  });

  // Issue 13, entry 10.
  it('that MAY_KNOW permits are each made by a file', () => {
    const made = new Set(
      sources.flatMap((source) => importsOf(source).map((name) => `${roomOf(source.file)} → ${roomOf(name)}`)),
    );
    const permitted = Object.entries(MAY_KNOW).flatMap(([room, known]) => known.map((name) => `${room} → ${name}`));
    report(permitted.filter((edge) => !made.has(edge)).map((edge) => `${edge} is permitted and no file imports so`));
  });

  it('are the column "knows" of the layers in ARCHITECTURE.md', () => {
    const rows = [...architecture.matchAll(/^\| `src\/([a-z]+)(?:\.ts)?` +\|[^|]+\| +([a-z, ]+|–) +\|$/gm)];
    const documented = rows.map(([, room = '', known = '']) => [room, known === '–' ? [] : known.trim().split(', ')]);
    expect(Object.fromEntries(documented)).toEqual(MAY_KNOW);
  });

  it('of ours exist', () => {
    const known = new Set([...sources, ...tests, ...tools].map(({ file }) => file));
    report(
      sources.flatMap((source) =>
        importsOf(source)
          .filter((name) => name.startsWith('src/') && !known.has(name))
          .map((name) => `${source.file} imports ${name}, which is not there`),
      ),
    );
  });

  it('of the domain are its own, hashing, bounded caches, and the cron parser in domain/cron', () => {
    report(
      sources
        .filter(({ file }) => file.startsWith('src/domain/'))
        .flatMap((source) =>
          importsOf(source)
            .filter((name) => !name.startsWith('src/domain/') && name !== 'node:crypto' && name !== 'lru-cache')
            .filter((name) => !(name === 'cron-parser' && source.file.startsWith('src/domain/cron/')))
            .map((name) => `${source.file} imports ${name}`),
        ),
    );
  });

  it('of the console page are its own, the websocket’s protocol, and what the API answers', () => {
    report(
      page.flatMap((source) =>
        importsOf(source)
          .filter((name) => !name.startsWith('web/') && !KNOWN_TO_PAGE.includes(name))
          .filter((name) => (name.includes('/') && !name.startsWith('@')) || name.startsWith('node:'))
          .map((name) => `${source.file} imports ${name}`),
      ),
    );
  });

  it('of packages stay in their rooms', () => {
    report(
      sources.flatMap((source) =>
        importsOf(source)
          .filter((name) => PACKAGE_ROOMS[name]?.includes(roomOf(source.file) ?? '') === false)
          .map((name) => `${source.file} imports ${name}`),
      ),
    );
  });

  it('go in no circle', () => {
    const graph = new Map(
      sources.map((source) => [
        source.file,
        // Types alone make no circle when the program runs.
        importsOf({ ...source, text: source.text.replace(/^(?:import|export) type [^;]*;/gm, '') }),
      ]),
    );
    const done = new Set<string>();
    const faults: string[] = [];
    const visit = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) {
        faults.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
        return;
      }
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) if (graph.has(next)) visit(next, [...trail, file]);
      done.add(file);
    };
    for (const file of graph.keys()) visit(file, []);
    report(faults);
  });
});

/** The code without comments: what they speak of is not done. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/(^|[^:'"`])\/\/ .*$/gm, '$1');
}

function uses(among: readonly Source[], pattern: RegExp): string[] {
  return among.flatMap(({ file, text }) =>
    codeOf(text)
      .split('\n')
      .flatMap((line, index) => {
        const match = pattern.exec(line);
        return match === null ? [] : [`${file}:${index + 1} uses ${match[0]}`];
      }),
  );
}

/** Asks the event loop how busy it is: what Node.js measures of itself is no time that anybody could give. */
const EVENT_LOOP_METRICS = 'src/telemetry/process-metrics.ts';
const PROCESS_TIME = 'src/time/process-time.ts';
const inDomain = sources.filter(({ file }) => file.startsWith('src/domain/'));

describe('the clock and chance', () => {
  it('are arguments in the domain', () => {
    report(
      uses(inDomain, /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\b|\bMath\.random\b|\brandom(?:Bytes|UUID|Int)\b/),
    );
    report(uses(inDomain, /\bset(?:Timeout|Interval|Immediate)\b|\bawait\b|\basync\b|\bPromise\b|\bprocess\./));
  });

  // Issue 13, entry 4. `setImmediate` is no time: it puts off to the next round of the event loop, so that what comes in one goes together.
  it('of Node.js are asked in one file only: everybody else is given a time', () => {
    const raw =
      /\bset(?:Timeout|Interval)\b|\bclear(?:Timeout|Interval)\b|\bperformance\b|\bDate\.now\b|\bnew Date\(\s*\)/;
    const imported = /\bhrtime\b|\bnode:(?:timers|perf_hooks)\b|\btimers\/promises\b|\bAbortSignal\.timeout\b/;
    const others = sources.filter(({ file }) => file !== PROCESS_TIME && file !== EVENT_LOOP_METRICS);
    expect(others).toHaveLength(sources.length - 2);
    const loop = sources.filter(({ file }) => file === EVENT_LOOP_METRICS);
    report([
      ...uses(others, raw),
      ...uses(others, imported),
      ...uses(loop, /\bperformance\.now\b|\bset(?:Timeout|Interval)\b|\bDate\b/),
    ]);
  });

  it('of this process are handed on by compose: no other room takes them for itself', () => {
    const mayImport = ['compose', 'main'];
    report(
      sources
        .filter(({ file }) => !mayImport.includes(roomOf(file) ?? ''))
        .filter((source) => importsOf(source).includes(PROCESS_TIME))
        .map(({ file }) => `${file} imports ${PROCESS_TIME}: it is to be given a time`),
    );
  });

  it('of chance are taken in compose only, save for the id of a signature', () => {
    const random = /\bMath\.random\b|\brandom(?:Bytes|UUID|Int)\b/;
    const mayTake = ['src/compose.ts', 'src/delivery/signing.ts'];
    report(
      uses(
        sources.filter(({ file }) => !mayTake.includes(file)),
        random,
      ),
    );
  });
});

describe('texts of others', () => {
  it('are judged as URLs by reading them: URL.canParse of Node.js 20 is wrong about some hosts once it is optimised', () => {
    report(uses([...sources, ...tools], /\bcanParse\b/));
  });

  it('become times by rules of ours: Date.parse repairs days and takes the machine’s zone', () => {
    // What our own stores, nodes and scripts have written.
    const own = [
      'src/postgres/partitions.ts',
      'src/postgres/binary-arrays.ts',
      'scripts/chaos/node-logs.ts',
      'scripts/chaos/receiver-process.ts',
    ];
    const among = [...sources, ...tools].filter(({ file }) => /^(?:src|scripts)\//.test(file) && !own.includes(file));
    report(uses(among, /\bDate\.parse\b/));
  });
});

describe('the process', () => {
  it('is asked for its environment and ended in main only', () => {
    report(
      uses(
        sources.filter(({ file }) => file !== 'src/main.ts'),
        /\bprocess\.(?:env|exit|exitCode|argv|on)\b/,
      ),
    );
  });

  // Issue 13, entry 4: how long a client waits and when it tries again is said once.
  it('makes clients of Redis in one file only', () => {
    const connects = 'src/redis/connect.ts';
    const makes = /\bnew (?:Redis|Cluster|RedirectedCluster)\(|\.duplicate\(/;
    expect(
      uses(
        sources.filter(({ file }) => file === connects),
        makes,
      ),
    ).not.toEqual([]);
    report(
      uses(
        sources.filter(({ file }) => file !== connects),
        makes,
      ),
    );
  });

  it('does no work when a file of ours is imported', () => {
    const start = /^(?:await |new |void |(?:[a-z]\w*\.)?(?:listen|connect|start)\()/;
    report(
      uses(
        sources.filter(({ file }) => file !== 'src/main.ts'),
        start,
      ),
    );
  });
});

describe('a stored request (issue 11, A6)', () => {
  const outside = (may: RegExp): Source[] => sources.filter(({ file }) => !may.test(file));

  it('is read by what sends it again, and by nobody who shows it', () => {
    const may = /^src\/(?:postgres\/|api\/(?:dead-letter-retry|export-items)\.ts$)/;
    report(uses(outside(may), /\bundisclosed\b|\bstoredRequest\b/));
  });

  it('is redacted in one place', () => {
    report(uses(outside(/^src\/domain\/(?:redaction|shown-request)\.ts$/), /\bredact(?:Body|Headers)\(/));
  });
});

describe('Lua and SQL', () => {
  const folder = (file: string): string => file.slice(0, file.lastIndexOf('/') + 1);
  const nameOf = (file: string): string => file.slice(folder(file).length).replace(/\.\w+$/, '');
  const code = sources
    .filter(({ file }) => !GENERATED.includes(file))
    .map(({ text }) => text)
    .join('\n');

  it('open with a comment that says what they are for', () => {
    report(
      [...scripts, ...statements]
        .filter(({ text }) => !/^(?:#!lua[^\n]*\n)?-- \S/.test(text))
        .map(({ file }) => `${file} has no head comment`),
    );
  });

  it('are each used by somebody', () => {
    const included = new Set(
      [...scripts, ...statements].flatMap(({ text }) =>
        [...text.matchAll(/^[ \t]*--!include ([a-z-]+)$/gm)].map(([, name]) => name),
      ),
    );
    const isUsed = ({ file, text }: Source): boolean => {
      if (GENERATED.includes(file)) return true;
      if (file.includes('/lua/include/') || text.includes('\n--!fragment\n')) return included.has(nameOf(file));
      if (file.endsWith('.lua')) return code.includes(`new Script('${nameOf(file)}'`);
      // All of them are applied, in order.
      if (file.includes('/migrations/')) return /\/\d{4}_[a-z0-9_]+\.sql$/.test(file);
      return code.includes(`'${nameOf(file)}'`);
    };
    report([...scripts, ...statements].filter((one) => !isUsed(one)).map(({ file }) => `${file} is used by nobody`));
  });

  it('that are named exist', () => {
    const known = new Set(statements.map(({ file }) => nameOf(file)));
    const named = sources
      .filter(({ file }) => /^src\/(?:postgres|intake)\//.test(file))
      .flatMap(({ file, text }) =>
        [...text.matchAll(/\.run(?:<[^()]*>)?\(\s*'([a-z-]+)'/g)].map(([, name = '']) => [file, name]),
      );
    report(
      named
        .filter(([, name = '']) => !known.has(name))
        .map(([file, name]) => `${file} runs ${name}.sql, which is not there`),
    );
  });

  it('of scripts get every key from outside, and say what they take and give', () => {
    const ours = scripts.filter(({ file }) => !file.includes('/include/'));
    report(
      ours
        .filter(({ text }) => !/^-- KEYS: /m.test(text) || !/^-- ARGV: /m.test(text) || !/^-- Returns /m.test(text))
        .map(({ file }) => `${file} does not say KEYS, ARGV and what it returns`),
    );
    // The lock package decides what a lock script is given: `boot_key` is made of a key that it was given, in the same slot.
    const builtKey = /redis\.call\('[A-Z]+', (?!KEYS\[\w\]|keys\.\w+|state_key|boot_key)[^)]/;
    report(
      uses(
        scripts.map((script) => ({ ...script, text: script.text.replace(/redis\.call\('TIME'\)/g, '') })),
        builtKey,
      ),
    );
  });

  it('take their parameters by names (issue 13, entry 3)', () => {
    const files = statements.filter(({ file }) => !file.includes('/migrations/') && !GENERATED.includes(file));
    report(uses(files, /\$\d/));
    // What is given as text takes none, and nobody says of what type its rows are.
    report(uses(sources, /\.(?:run|text)</));
    report(uses(sources, /\.text\((?!\))[^;]*\$\d/));
  });

  it('do not lie in strings of TypeScript', () => {
    report(uses(sources, /redis\.call\(|\.eval\(\s*['"`]/));
  });
});

describe('files', () => {
  const drawer = /(?:^|\/)(?:utils?|types?|common|helpers?|misc|shared|lib)(?:\.\w+|\/)/;

  it('are no drawers for whatever comes along', () => {
    report(
      [...sources, ...tests, ...tools].filter(({ file }) => drawer.test(file)).map(({ file }) => `${file} is a drawer`),
    );
  });

  it('say at their top what they are for', () => {
    report(
      [...sources, ...tests, ...tools]
        .filter(({ text }) => !/^(?:#!.*\n)?(?:\/\/ \S|\/\*\*(?: |\n \* )\S)/.test(text))
        .map(({ file }) => `${file} does not open with a sentence on what it is for`),
    );
  });

  it('are not too long', () => {
    const isTooLong = (most: number) => (source: Source) => source.text.split('\n').length - 1 > most;
    const written = [...sources, ...tools, ...scripts, ...statements].filter(({ file }) => !GENERATED.includes(file));
    const tooLong = written.filter(isTooLong(MAX_LINES));
    report([...tooLong, ...tests.filter(isTooLong(MAX_TEST_LINES))].map(({ file }) => `${file} is too long`));
  });

  it('have no any in them', () => {
    report(uses(sources, /(?:[:<,|(]\s*any\b\s*[;,)>=|[\]]|\bas any\b)/));
  });
});

describe('tests', () => {
  it('wait for signals and never for time', () => {
    const quick = tests.filter(({ file }) => /^test\/(?:unit|integration|conformance)\//.test(file));
    // A timer that only resolves a promise is a sleep, whatever it is called.
    const sleep = /setTimeout\(\s*(?:resolve|r|done|ok|next)\s*,|\bsleep\(|timers\/promises/;
    report(uses(quick, sleep));
  });

  it('are run, none alone and none left out', () => {
    report(uses(tests, /\b(?:it|test|describe)(?:\.\w+)*\.(?:only|skip|todo)\b/));
  });
});

describe('the command line client', () => {
  it('writes to its outputs in one place, and makes JSON for them there', () => {
    const client = tools.filter(({ file }) => file.startsWith('cli/') && file.endsWith('.ts'));
    expect(client.length).toBeGreaterThan(10);
    report(
      client
        .filter(({ file }) => !MAY_WRITE.includes(file))
        .flatMap(({ file, text }) =>
          [
            ...text.matchAll(/\b(?:console|process\.(?:stdout|stderr))\.?\w*|\bwriteSync\b|\\u001b|\.out\([^)]*JSON/g),
          ].map(([found]) => `${file} has ${found}: write with the screen (cli/screen.ts)`),
        ),
    );
  });
});
