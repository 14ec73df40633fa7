/** `carillon keys|tenant …`, with the tokens of tokens.ts: who may call, and by what receivers know us. */
import type { Command } from 'commander';
import type { SigningKeysShown, TenantShown } from '../src/api/access-schemas.js';
import { first, type Runner, type Session } from './session.js';
import { fields } from './table.js';
import { line } from './text.js';
import { time } from './times.js';
import { addTokens } from './tokens.js';

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
    const answer = (await session.api.call(method, path)) as SigningKeysShown;
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
        })) as TenantShown;
        session.show(tenant, () => line`created ${tenant.name}; a token: carillon token create ${tenant.name}`);
      }),
    );
  group
    .command('list')
    .description('all tenants')
    .action(
      run(async (session) => {
        const tenants = (await session.api.call('GET', '/admin/tenants')) as TenantShown[];
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
