import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startHarness } from './harness.ts'
import { schemaText } from './schema-text.ts'

/**
 * Compares the schema after all migrations with the reviewed one. After a migration, run `UPDATE_SCHEMA=1 npm
 * test -- packages/server/test/schema.test.ts` and review the difference. The schema of the job queue is left
 * out: its library makes it, and `job-queue.test.ts` checks its revision.
 */
const file = new URL('schema.sql', import.meta.url)
const { query } = await startHarness()

/** Tables with keys that are unique across workspaces, or that belong to no workspace. */
const global: Record<string, string> = {
  workspaces: 'is the workspace',
  workspace_slugs: 'a slug is unique across workspaces',
  credentials: 'a credential is looked up by its digest, before its workspace is known',
  service_secrets: 'belongs to the service',
  store_levels: 'belongs to the service',
  store_timelines: 'belongs to the service',
  signing_keys: 'belongs to the service',
  users: 'a person belongs to no workspace',
  user_passwords: 'as a person',
  sessions: 'as a person',
  mail_tokens: 'as a person',
  disownings: 'as a person',
  letter_counts: 'is about a person or a network over all workspaces',
  mail_throttles: 'is about an address, which need not have an account',
  keyrail_migrations: 'belongs to the service',
}

test('the migrations leave exactly the schema of schema.sql', async () => {
  const text = await schemaText(query)
  if (process.env.UPDATE_SCHEMA) writeFileSync(file, text)
  assert.equal(text, readFileSync(file, 'utf8'))
})

test('keys, unique indexes and foreign keys of workspace tables start with the workspace', async () => {
  const keys = await query(`
    select c.relname as table, x.relname as name, a.attname as first
    from pg_index i join pg_class c on c.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
      left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
    where c.relnamespace = 'public'::regnamespace and i.indisunique
    union all
    select c.relname, k.conname, a.attname from pg_constraint k join pg_class c on c.oid = k.conrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
    where c.relnamespace = 'public'::regnamespace and k.contype = 'f'`)
  assert.ok(keys.length > 20)
  for (const { table, name, first } of keys) {
    if (global[table] === undefined) assert.equal(first, 'workspace_id', `${name} of ${table}`)
  }
})

test('every table belongs to a workspace or is listed, and no listed one is stale', async () => {
  const tables = await query(`
    select c.relname as name, exists (select from pg_attribute a where a.attrelid = c.oid
      and a.attname = 'workspace_id' and a.attnotnull and not a.attisdropped) as owned
    from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace`)
  for (const { name, owned } of tables) assert.ok(owned || global[name], name)
  for (const name of Object.keys(global))
    assert.ok(
      tables.some(table => table.name === name),
      name,
    )
})

test('every named bound starts with its table, so that a violation can be reported', async () => {
  const checks = await query(`select c.relname as table, k.conname as name from pg_constraint k
    join pg_class c on c.oid = k.conrelid where k.contype = 'c' and c.relnamespace = 'public'::regnamespace`)
  for (const { table, name } of checks) assert.ok(name.startsWith(`${table}_`), name)
})
