import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { FAST_PLACE, query } from '../../../../test/embedded-service.ts'
import { startScratchCluster } from '../../../../test/scratch.ts'
import { migrate } from '../migrate/migrate.ts'
import { findRunningEmbedded } from './running.ts'
import { type EmbeddedConnection, startEmbedded } from './start.ts'

const temp = mkdtempSync(join(FAST_PLACE, 'keyrail-login-'))
chmodSync(temp, 0o755)
after(() => rmSync(temp, { recursive: true, force: true }))
const quiet = { info() {}, warn() {} }
const start = (name: string) =>
  startEmbedded({ dataDir: join(temp, name), log: quiet, stateDirectory: join(temp, 'state') })

const roleFacts = `select session_user as "user", rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
  from pg_roles where rolname = session_user`
const powerless = {
  user: 'keyrail_service',
  rolsuper: false,
  rolcreaterole: false,
  rolcreatedb: false,
  rolreplication: false,
  rolbypassrls: false,
}

/** Tries what only a superuser can do, and what would give access to the machine. */
async function triesToEscape(connection: EmbeddedConnection): Promise<void> {
  for (const statement of [
    `copy (select 1) to program 'true'`,
    `copy (select 1) to '/tmp/keyrail-escape'`,
    `select pg_read_file('/etc/passwd')`,
    `alter system set shared_preload_libraries = 'x'`,
    `alter role keyrail_service superuser`,
    'set session authorization keyrail',
    'create role keyrail_other superuser',
    'create function escape() returns int language c as $$libc$$, $$system$$',
  ]) {
    await assert.rejects(query(connection, statement), { code: '42501' }, statement)
  }
}

test('the service’s login is no superuser, and cannot run programs or read files', async () => {
  const postgres = await start('new')
  try {
    const { connection } = postgres
    assert.deepEqual(await query(connection, roleFacts), [powerless])
    await triesToEscape(connection)
    assert.ok((await migrate(connection)).length > 0)
    await query(connection, 'set role keyrail_app')
    assert.equal(statSync(join(temp, 'new', 'postgres-service-password')).mode & 0o777, 0o600)
    assert.deepEqual(
      await query(findRunningEmbedded(join(temp, 'new')) as EmbeddedConnection, roleFacts),
      [powerless],
      'a command beside it logs in the same way',
    )
  } finally {
    await postgres.stop()
  }
})

test('an older database with only the superuser is handed over to the service’s login', async () => {
  const directory = join(temp, 'old')
  const old = await startScratchCluster({ directory })
  await migrate(old.connection)
  await query(
    old.connection,
    `create type mood as enum ('good'); create domain short as text; create view seen as select id from users;
     insert into users (id, email, address_key, created_at, updated_at)
     values ('01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11', 'a@example.com', 'a@example.com', now(), now())`,
  )
  const [{ user: before } = {}] = await query(old.connection, roleFacts)
  assert.equal(before, 'keyrail')
  await old.remove()

  for (const round of ['first', 'again']) {
    const postgres = await start('old')
    try {
      const { connection } = postgres
      assert.deepEqual(await query(connection, roleFacts), [powerless], round)
      await triesToEscape(connection)
      const owners = await query(
        connection,
        `select distinct o from (
           select relowner::regrole::text as o from pg_class where relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
           union all select proowner::regrole::text from pg_proc where pronamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
           union all select typowner::regrole::text from pg_type where typnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
           union all select datdba::regrole::text from pg_database where datname = 'keyrail'
           union all select nspowner::regrole::text from pg_namespace where nspname = 'graphile_worker') all_owners`,
      )
      assert.deepEqual(owners, [{ o: 'keyrail_service' }], round)
      assert.deepEqual(await query(connection, 'select email from users'), [{ email: 'a@example.com' }])
      await query(connection, 'alter table users add column extra text; alter table users drop column extra')
      assert.deepEqual(await migrate(connection), [])
    } finally {
      await postgres.stop()
    }
  }
})
