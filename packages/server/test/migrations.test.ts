import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownMigrations } from '../src/platform/db/migrate/migrate.ts'
import { faultsOf } from './migration-lint.ts'

/** The last migration from before the rules; those up to it keep the form in which they were written. */
const lastFree = '0036_usage_estimated'
const textOf = (name: string) => readFileSync(join(ownMigrations.directory, `${name}.sql`), 'utf8')

test('no migration stops the previous release, and each says whether it expands or contracts', () => {
  assert.ok(ownMigrations.names.includes(lastFree))
  for (const name of ownMigrations.names) {
    const text = textOf(name)
    if (name > lastFree || text.startsWith('-- expand')) assert.deepEqual(faultsOf(text), [], name)
  }
})

test('the rules find the long locks of migrations from before them', () => {
  for (const name of ['0021_makers', '0030_search', '0034_met_tenants'])
    assert.notEqual(faultsOf(`-- expand\n${textOf(name)}`).length, 0, name)
})

const expand = (statement: string) => `-- expand\n${statement};\n`
const outside = (statement: string) => `-- expand, outside a transaction\n${statement};\n`

for (const [text, fault] of [
  ['alter table tenants add column a int;', /first line/],
  [expand('create index a on audit_logs (seq)'), /concurrently/],
  [expand('alter table api_keys add constraint a check (env is not null)'), /not valid/],
  [expand('alter table api_keys add constraint a foreign key (id) references b (id)'), /not valid/],
  [expand('alter table api_keys add constraint a unique (id)'), /using index/],
  [expand('alter table api_keys validate constraint a'), /outside a transaction/],
  [expand('alter table api_keys add column a int not null'), /a default/],
  [expand('alter table api_keys add column a uuid default gen_random_uuid()'), /rewrites/],
  [expand('alter table api_keys add column a text generated always as (lower(name)) stored'), /rewrites/],
  [expand('alter table api_keys add column a int references tenants (id)'), /not valid/],
  [expand('alter table api_keys alter column name type varchar(10)'), /rewrites/],
  [expand('alter table api_keys alter column name set not null'), /not valid/],
  [expand('update api_keys set name = null'), /in batches/],
  [expand('alter table api_keys drop column name'), /contracts/],
  [expand('alter table api_keys rename column name to title'), /contracts/],
  [expand('drop table replays'), /contracts/],
  [expand('do $$ begin update api_keys set name = null; end $$'), /not read here/],
  [expand('lock table api_keys in exclusive mode'), /briefly/],
  [expand('reindex table api_keys'), /stops writes/],
  [expand('alter table api_keys set unlogged'), /rewrites/],
  [expand('merge into api_keys using a on true when matched then delete'), /in batches/],
  [outside('create index concurrently a on audit_logs (seq)'), /outside/],
  [outside('alter table api_keys add column a int'), /outside/],
] as const) {
  test(`refused: ${text.replaceAll('\n', ' ')}`, () => assert.match(faultsOf(text).join('\n'), fault))
}

for (const text of [
  expand(
    'create table a (id uuid primary key); create index b on a (id); alter table a add constraint c check (true)',
  ),
  expand('alter table api_keys add column a boolean not null default false, add column b text'),
  expand('alter table api_keys add constraint a check (name <> 0::text) not valid'),
  expand('alter table signing_keys add column a int, add constraint b check (a > 0)'),
  expand('create function f() returns void language sql as $$ update api_keys set name = null; $$'),
  outside(
    'alter table api_keys validate constraint a; create index concurrently if not exists a on api_keys (id)',
  ),
  '-- contract\nalter table api_keys drop column name;\n',
]) {
  test(`allowed: ${text.replaceAll('\n', ' ')}`, () => assert.deepEqual(faultsOf(text), []))
}
