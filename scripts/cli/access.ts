/** `carillon keys|tenant|token …`: who may call, and by what receivers know us. */
import type { Command } from 'commander';
import { first, type Runner, type Session } from './session.js';
import { fields } from './table.js';
import { time } from './times.js';
import { line } from './text.js';

interface Keys {
  readonly current: string;
  readonly next: string;
}

interface Tenant {
  readonly name: string;
  readonly createdAt: number;
}

interface Token {
  readonly id: string;
  readonly label: string;
  readonly createdAt: number;
}

export function addAccess(program: Command, run: Runner): void {
  addKeys(program, run);
  addTenants(program, run);
  addTokens(program, run);
}

function addKeys(program: Command, run: Runner): void {
  const group = program.command('keys').description('signing keys, by which receivers check deliveries');
  group
    .command('show')
    .description('the current and the next one')
    .action(run(keys('GET', '/v2/keys')));
  group
    .command('rotate')
    .description('current becomes what next was, next becomes new')
    .action(run(keys('POST', '/v2/keys/rotate')));
}

function keys(method: string, path: string) {
  return async (session: Session): Promise<void> => {
    const answer = (await session.api.call(method, path)) as Keys;
    session.show(answer, () =>
      fields([
        ['current', answer.current],
        ['next', answer.next],
      ]),
    );
  };
}

function addTenants(program: Command, run: Runner): void {
  const group = program.command('tenant').description('whose work it is (administrator)');
  group
    .command('create <name>')
    .description('a tenant with random signing keys and no token')
    .action(
      run(async (session, _options, operands) => {
        const tenant = (await session.api.call('POST', '/admin/tenants', {
          json: { name: first(operands) },
        })) as Tenant;
        session.show(tenant, () => line`created ${tenant.name}; a token: carillon token create ${tenant.name}`);
      }),
    );
  group
    .command('list')
    .description('all tenants')
    .action(
      run(async (session) => {
        const tenants = (await session.api.call('GET', '/admin/tenants')) as Tenant[];
        session.show(tenants, () =>
          session.table(
            [
              { title: 'NAME', cell: ({ name }) => name },
              { title: 'CREATED', cell: ({ createdAt }) => time(createdAt, session.zone), drop: 1 },
            ],
            tenants,
            'no tenants',
          ),
        );
      }),
    );
}

function addTokens(program: Command, run: Runner): void {
  const group = program.command('token').description('the tokens of a tenant (administrator)');
  group
    .command('create <tenant>')
    .description('another token; it is shown this once')
    .option('--label <label>', 'what it is for')
    .action(
      run(async (session, { label }: { label?: string }, operands) => {
        const path = tokensPath(first(operands));
        const created = (await session.api.call('POST', path, { json: { label } })) as Token & { token: string };
        session.show(created, () =>
          fields([
            ['id', created.id],
            ['label', created.label],
            ['token', created.token],
          ]),
        );
      }),
    );
  group.command('list <tenant>').description('the tokens of a tenant, without their texts').action(run(listTokens));
  group
    .command('revoke <tenant> <id>')
    .description('take a token away')
    .action(
      run(async (session, _options, operands) => {
        const path = `${tokensPath(first(operands))}/${encodeURIComponent(operands[1] ?? '')}`;
        const revoked = (await session.api.call('DELETE', path)) as { id: string };
        session.show(revoked, () => line`revoked ${revoked.id}`);
      }),
    );
}

async function listTokens(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const tokens = (await session.api.call('GET', tokensPath(first(operands)))) as Token[];
  session.show(tokens, () =>
    session.table(
      [
        { title: 'ID', cell: ({ id }) => id },
        { title: 'CREATED', cell: ({ createdAt }) => time(createdAt, session.zone), drop: 2 },
        { title: 'LABEL', cell: ({ label }) => label, min: 8, drop: 1 },
      ],
      tokens,
      'no tokens',
    ),
  );
}

function tokensPath(tenant: string): string {
  return `/admin/tenants/${encodeURIComponent(tenant)}/tokens`;
}
