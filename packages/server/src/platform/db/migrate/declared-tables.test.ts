import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { readDeclaredTables } from './declared-tables.ts'

test('the tables that migrations declare, and secure, are those that they leave', async () => {
  const { query } = await startHarness()
  const tables = await query(
    `select relname as name, relrowsecurity as secured, relforcerowsecurity as forced from pg_class
     where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname <> 'keyrail_migrations'`,
  )
  const { all, secured } = readDeclaredTables()
  assert.deepEqual([...all].sort(), tables.map(({ name }) => name).sort())
  assert.deepEqual(
    [...secured].sort(),
    tables
      .filter(table => table.secured)
      .map(({ name }) => name)
      .sort(),
  )
  assert.ok(tables.every(({ forced }) => !forced))
})
