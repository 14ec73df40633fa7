/** `carillon token …` and `carillon admin-token …`: tokens of tenants, and of administrators. */
import type { Command } from 'commander';
import type { CreatedTokenShown, TokenShown } from '../src/api/access-schemas.js';
import { first, type Runner, type Session } from './session.js';
import { fields } from './table.js';
import { line } from './text.js';
import { exactTime, readTime, time } from './times.js';

interface CreateOptions {
  readonly label?: string;
  readonly expiresIn?: string;
  readonly expiresAt?: string;
}

export function addTokens(program: Command, run: Runner): void {
  addGroup(program.command('token').description('the tokens of a tenant (administrator)'), run, {
    operand: ' <tenant>',
    path: (operands) => `/admin/tenants/${encodeURIComponent(first(operands))}/tokens`,
    id: (operands) => operands[1] ?? '',
  });
  addGroup(program.command('admin-token').description("administrators' tokens (administrator)"), run, {
    operand: '',
    path: () => '/admin/tokens',
    id: first,
  });
}

/** Whose tokens a group of commands is about. */
interface Owner {
  /** What stands before a token's id on the command line. */
  readonly operand: string;
  readonly path: (operands: readonly string[]) => string;
  readonly id: (operands: readonly string[]) => string;
}

function addGroup(group: Command, run: Runner, { operand, path, id }: Owner): void {
  group
    .command(`create${operand}`)
    .description('another token; it is shown this once')
    .option('--label <label>', 'what it is for')
    .option('--expires-in <duration>', 'ends after this time: 90d, 12h')
    .option('--expires-at <time>', 'ends at this time: 2027-01-01T00:00:00Z')
    .action(
      run(async (session, { label, expiresIn, expiresAt }: CreateOptions, operands) => {
        const at = expiresAt === undefined ? undefined : readTime(expiresAt, '--expires-at');
        const json = { label, expiresIn, expiresAt: at };
        const created = (await session.api.call('POST', path(operands), { json })) as CreatedTokenShown;
        session.show(created, () =>
          fields([
            ['id', created.id],
            ['label', created.label],
            ['expires', exactTime(created.expiresAt ?? undefined, session.zone)],
            ['token', created.token],
          ]),
        );
      }),
    );
  group
    .command(`list${operand}`)
    .description('the tokens without their texts, their expiry and last use')
    .action(
      run(async (session, _options, operands) => {
        const tokens = (await session.api.call('GET', path(operands))) as TokenShown[];
        session.show(tokens, () => tokenTable(session, tokens));
      }),
    );
  group
    .command(`revoke${operand} <id>`)
    .description('end a token; nodes forget it within CARILLON_TOKEN_CACHE_MS')
    .action(
      run(async (session, _options, operands) => {
        const of = `${path(operands)}/${encodeURIComponent(id(operands))}`;
        const revoked = (await session.api.call('DELETE', of)) as { id: string };
        session.show(revoked, () => line`revoked ${revoked.id}`);
      }),
    );
}

function tokenTable(session: Session, tokens: readonly TokenShown[]): string {
  return session.table(
    [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'CREATED', cell: ({ createdAt }) => time(createdAt, session.zone), drop: 3 },
      { title: 'LAST USED', cell: ({ lastUsedAt }) => time(lastUsedAt ?? undefined, session.zone), drop: 2 },
      { title: 'EXPIRES', cell: ({ expiresAt }) => (expiresAt === null ? 'never' : time(expiresAt, session.zone)) },
      { title: 'SOURCE', cell: ({ source }) => source, drop: 4 },
      { title: 'LABEL', cell: ({ label }) => label, min: 8, drop: 1 },
    ],
    tokens,
    'no tokens',
  );
}
