import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  comparable,
  contentsOf,
  evenVersions,
  freshDatabase,
  freshPath,
  query,
  tablesOf,
} from '../../../../test/dump-contents.ts'
import { restore } from '../../../restore.ts'
import { jobSchema } from '../../jobs/job-queue.ts'
import { migrate, migrations, ownMigrations, readMigrations } from '../migrate/migrate.ts'
import { migrationsTable } from '../migrate/table.ts'
import { backup } from './backup.ts'
import { parentsFirst } from './catalogue.ts'
import { namesMade } from './drop-schema.ts'

const newest = await freshDatabase(false)
const workspaceId = '01890000-0000-7000-8000-000000000001'
const projectId = '01890000-0000-7000-8000-000000000002'
const someRows = `
  insert into workspaces (id, name, slug, created_at, updated_at)
    values ('${workspaceId}', 'Acme', 'acme', now(), now());
  insert into projects (workspace_id, id, name, slug, created_at, updated_at)
    values ('${workspaceId}', '${projectId}', 'Pay', 'pay', now(), now());
  insert into policy_heads (workspace_id, project_id, version) values ('${workspaceId}', '${projectId}', 7)`

/** A database with the schema of the release that added keys. */
const old = await freshDatabase(true)
await migrate(old, { upTo: '0005_keys' })
await query(old, someRows)
const oldFile = freshPath()
await backup(old, oldFile)

test('every name that migrations make in the schema public is known, so it can be dropped', async () => {
  const made = await query(
    newest,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind not in ('i', 'I', 't')
       and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = pg_class.oid
         and d.deptype in ('a', 'i') and d.refobjsubid > 0)
     union select proname from pg_proc where pronamespace = 'public'::regnamespace
     union select typname from pg_type where typnamespace = 'public'::regnamespace and typtype in ('d', 'e', 'r')`,
  )
  const known = new Set(namesMade(ownMigrations))
  assert.ok(made.length > 10)
  assert.deepEqual(
    (made as { name: string }[]).map(({ name }) => name).filter(name => !known.has(name)),
    [],
  )
})

test('a backup has every table after those that it refers to, without the job queue', async () => {
  const tables = await query(
    newest,
    `select tablename as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema', '${jobSchema}')`,
  )
  const { header } = await backup(newest, freshPath())
  const names = header.tables.map(({ name }) => name)
  const expected = (tables as { name: string }[]).map(({ name }) => name)
  assert.deepEqual([...names, migrationsTable].sort(), expected.sort())
  for (const [child, parent] of [
    ['api_keys', 'projects'],
    ['policy_changes', 'api_keys'],
    ['audit_addresses', 'audit_logs'],
  ] as const) {
    assert.ok(names.indexOf(child) > names.indexOf(parent), `${child} after ${parent}`)
  }
})

test('foreign keys in an unresolvable circle are an error', () => {
  const pairs = [
    { child: 'a', parent: 'b' },
    { child: 'b', parent: 'a' },
  ]
  assert.throws(() => parentsFirst([{ name: 'a' }, { name: 'b' }, { name: 'c' }], pairs), /circle: a, b/)
})

test('a backup of an older schema is migrated, even into a database with the newest one', async () => {
  for (const target of [await freshDatabase(true), await freshDatabase(false)]) {
    const { migrated } = await restore(target, oldFile)
    assert.deepEqual(migrated, migrations.slice(5))
    const contents = await contentsOf(target, comparable)
    const folded = 'alter table projects add column name_folded text generated always as (lower(name)) stored'
    const themed =
      'alter table workspaces add column embed_accent text, add column embed_radius smallint, add column embed_logo_text text'
    const scoped =
      'alter table projects add column known_scopes text[], add column strict_scopes boolean not null default false'
    const billed =
      'alter table workspaces add column billing_verified_hash bytea, add column billing_token_digest bytea, add column billing_token_hash bytea, add column billing_token_expires_at timestamptz(3)'
    const raised = 'alter table policy_heads add column raised_by bigint not null default 0'
    const ruled =
      "alter table projects add column max_key_lifetime_days integer, add column lifetime text not null default 'report', add column delete_protection boolean not null default false"
    const imported = ['projects', 'policy_heads']
      .map(table => `alter table ${table} add column accepts_imported boolean not null default false`)
      .join('; ')
    const changed = `${evenVersions}; ${folded}; ${themed}; ${scoped}; ${billed}; ${raised}; ${ruled}; ${imported}`
    const expected = await contentsOf(old, changed)
    assert.deepEqual(contents[migrationsTable], migrations)
    for (const table of ['workspaces', 'projects', 'policy_heads']) {
      assert.deepEqual(contents[table], expected[table])
    }
  }
})

/** A later release: one more migration, with features that no current table has. */
const laterFolder = freshPath()
mkdirSync(laterFolder)
cpSync(ownMigrations.directory, laterFolder, { recursive: true })
writeFileSync(
  join(laterFolder, '9999_odd.sql'),
  `create type odd_mood as enum ('calm', 'it''s odd');
   create domain odd_name as text check (value <> 'nobody');
   create sequence odd_tickets start 1000;
   create table odd_parents (
     id bigint generated always as identity primary key, ticket bigint default nextval('odd_tickets'),
     name odd_name, shout text generated always as (upper(name)) stored, "Select from" odd_mood,
     dropped int, span interval, ratio double precision, amount numeric, tags text[], grid int[][], day date,
     at timestamptz, doc jsonb, raw json, bytes bytea, flag boolean, nothing text, address inet
   );
   alter table odd_parents drop column dropped;
   create table odd_parts (id int, parent bigint references odd_parents (id)) partition by range (id);
   create table odd_parts_low partition of odd_parts for values from (0) to (10);
   create table odd_parts_rest partition of odd_parts default;
   create table odd_tree (id int primary key, above int references odd_tree (id));
   create table odd_circle_a (id int primary key, b int);
   create table odd_circle_b (id int primary key, a int references odd_circle_a deferrable);
   alter table odd_circle_a add foreign key (b) references odd_circle_b deferrable;
   create table odd_counts (name text primary key, rows int not null);
   create function odd_count() returns trigger language plpgsql as $$ begin
     insert into odd_counts values (tg_table_name, 1) on conflict (name) do update set rows = odd_counts.rows + 1;
     return null; end $$;
   create trigger odd_counted after insert on odd_tree for each row execute function odd_count();
   create function odd_heads() returns setof odd_parents language sql as 'select * from odd_parents';
   create view odd_names as select name from odd_parents;`,
)
const later = readMigrations(laterFolder)

/** Values that a careless format would confuse with its own syntax or with each other. */
const nasty = [
  '',
  '\\',
  '\\.',
  '\\N',
  '\n\\.\n',
  '\t',
  '\r\n',
  '"',
  "'",
  'null',
  'é\u0301😀',
  '\u0001\u007f\u2028',
]

test('odd values, and possible later columns and tables, are restored exactly', async () => {
  const source = await freshDatabase(true)
  await migrate(source, { set: later })
  await query(source, someRows)
  for (const [i, value] of nasty.entries()) {
    await query(
      source,
      `insert into odd_parents (name, "Select from", span, ratio, amount, tags, grid, day, at, doc, raw, bytes, flag)
       values ($1, 'it''s odd', '1 mon -2 days 03:04:05.678', 0.1 + 0.2, 1e-30, $2, '{{1,2},{3,null}}', '-infinity',
         'infinity', $3, $4, $5, $6)`,
      [
        value,
        [value, null, ...nasty],
        JSON.stringify(nasty),
        ` {"a" : ${JSON.stringify(value)}, "a":1}`,
        Buffer.from(value),
        i % 2 === 0,
      ],
    )
  }
  const large = JSON.stringify({ meta: '\n'.repeat(32 * 1024) })
  await query(source, 'insert into odd_parents (name, raw) values (null, $1)', [large])
  await query(source, `insert into odd_parents (name) values (repeat('\\.' || chr(10), 500000))`)
  await query(
    source,
    `insert into odd_parts values (3, 1), (70, 2);
     insert into odd_tree values (1, 2), (2, 3), (3, null);
     begin; set constraints all deferred; insert into odd_circle_a values (1, 1); insert into odd_circle_b values (1, 1);
     commit; select setval('odd_tickets', 5000000000000000000)`,
  )
  const file = freshPath()
  await backup(source, file)
  const target = await freshDatabase(true)
  await restore(target, file, { migrations: later })
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source, comparable))
  const [next] = await query(
    target,
    `insert into odd_parents (name) values ('next') returning id::int, ticket, shout`,
  )
  assert.deepEqual(next, { id: nasty.length + 3, ticket: '5000000000000000001', shout: 'NEXT' })

  await query(target, 'insert into odd_tree values (4, 1)')
  const [counted] = await query(target, 'select rows from odd_counts')
  assert.deepEqual(counted, { rows: 4 }, 'the trigger did not fire while loading, and does afterwards')

  await restore(target, file, { migrations: later, force: true })
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source, comparable))

  const before = [await tablesOf(newest), await contentsOf(newest)]
  await assert.rejects(
    restore(newest, file),
    /does not know \(9999_odd\).*Install that version or a later one/,
  )
  assert.deepEqual([await tablesOf(newest), await contentsOf(newest)], before)
  await assert.rejects(restore(target, oldFile, { force: true }), /does not know \(9999_odd\)/)
})

test('other tables in the schema are left alone, and are not in a backup', async () => {
  const theirs = `
    create table invoices (id serial primary key, total int);
    create function vat(total int) returns int language sql as 'select total / 5';
    create view big_invoices as select id from invoices where total > 100;
    insert into invoices (total) values (1), (1000)`
  const source = await freshDatabase(false)
  await query(source, `${theirs}; insert into invoices (total) values (3); ${someRows}`)
  const file = freshPath()
  await backup(source, file)
  const target = await freshDatabase(false)
  await query(target, theirs)
  const { passedOver } = await restore(target, file)
  assert.deepEqual(passedOver, ['invoices'])
  const { invoices, ...rest } = await contentsOf(target, comparable)
  const { invoices: _, ...expected } = await contentsOf(source, comparable)
  assert.deepEqual(rest, expected)
  assert.deepEqual(invoices, ['(1,1)', '(2,1000)'])
  const [next] = await query(target, 'insert into invoices (total) values (vat(10)) returning id, total')
  assert.deepEqual(next, { id: 3, total: 2 })
})

test('other objects that depend on our tables are reported, and nothing is dropped', async () => {
  const target = await freshDatabase(false)
  await query(target, 'create view their_projects as select name from projects')
  const before = [await tablesOf(target), await contentsOf(target)]
  await assert.rejects(
    restore(target, oldFile),
    /depends on it:.*view their_projects depends on table projects/s,
  )
  assert.deepEqual([await tablesOf(target), await contentsOf(target)], before)
})

test('a table that was changed by hand is refused, not truncated to the known columns', async () => {
  const source = await freshDatabase(false)
  await query(source, 'alter table tenants add column vip boolean')
  const file = freshPath()
  await backup(source, file)
  await assert.rejects(restore(await freshDatabase(true), file), /table tenants.*\(vip\).*changed by hand/)
})

test('a role that row-level security hides rows from gets no partial backup', async () => {
  const source = await freshDatabase(false)
  const role = `reader_${randomUUID().replaceAll('-', '')}`
  await query(source, `create role ${role} login password 'x' in role pg_read_all_data; ${someRows}`)
  const reader = { ...source, user: role, password: 'x' }
  try {
    assert.deepEqual(await query(reader, 'select from workspaces'), [])
    await assert.rejects(backup(reader, freshPath()), /row-level security/)
  } finally {
    await query(source, `drop role ${role}`)
  }
})
