import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAsApp } from './as-app.ts'
import { changeManyOnce } from './bulks.ts'
import { tablesOf } from './dump.ts'
import { bootstrapToken, startHarness } from './harness.ts'
import { makePerson, personalTables } from './people.ts'
import { mentionsOf, serviceFiles, stringsOf } from './source-files.ts'
import {
  answerOnce,
  endOnce,
  issueKey,
  leakOnce,
  makeInvite,
  makeVendor,
  spendOnce,
  uniqueSlug,
  useOnce,
} from './vendor.ts'
import { writtenColumns } from './written-columns.ts'

/**
 * Workspaces are isolated twice: every statement names its workspace, and row-level security hides the others
 * from the role of a request's transaction. Each is tested without the other.
 */
const harness = await startHarness()
const { ask, query } = harness
const asApp = await openAsApp(harness)
const [mine, theirs] = [await makeFullWorkspace(), await makeFullWorkspace()]

/** Tables that do not belong to one workspace; the role of a request cannot read them. */
const global: Record<string, string> = {
  service_secrets: 'keys of the service itself',
  signing_keys: 'keys of the service itself',
  store_levels: 'identifies this database',
  store_timelines: 'identifies this database',
  keyrail_migrations: 'the migrations that were applied',
  letter_counts: 'how much a person or network sent, in any workspace',
  mail_throttles: 'how often an address was written to, in any workspace',
}
const tables = await tablesOf(query)
const kept = tables.filter(table => global[table] === undefined)
/** scoping-people.test.ts tests the rows that belong to a person and not to a workspace. */
const scoped = kept.filter(table => !personalTables.includes(table))
const scopeOf = (table: string) => (table === 'workspaces' ? 'id' : 'workspace_id')

/** The further policies of tables that are written in another scope than they are read. */
const more: Record<string, string[]> = {
  workspace_members: ['workspace_members_join', 'workspace_members_change'],
}

test('every table has row-level security and a policy, or is listed as global', async () => {
  for (const table of kept) {
    const [{ rls, forced, policies }] = await query(
      `select relrowsecurity as rls, relforcerowsecurity as forced,
         (select array_agg(polname::text) from pg_policy where polrelid = c.oid) as policies
       from pg_class c where oid = $1::regclass`,
      [table],
    )
    const own = more[table] ?? []
    assert.deepEqual([rls, forced, policies], [true, false, [`${table}_scope`, ...own]], table)
  }
  for (const table of Object.keys(global)) assert.ok(tables.includes(table), table)
})

test('the role of a request owns nothing, cannot log in and bypasses no policy', async () => {
  const [role] =
    await query(`select rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb, rolinherit
    from pg_roles where rolname = 'keyrail_app'`)
  assert.ok(
    Object.values(role).every(allowed => allowed === false),
    JSON.stringify(role),
  )
  const owned = await query(`select relname from pg_class where pg_get_userbyid(relowner) = 'keyrail_app'`)
  assert.deepEqual(owned, [])
  const memberships = await query(`select from pg_auth_members where member = 'keyrail_app'::regrole`)
  assert.deepEqual(memberships, [])
})

for (const table of scoped) {
  const scope = scopeOf(table)

  test(`${table}: another workspace’s rows cannot be read, written, changed or removed`, async () => {
    const rows = await query(`select to_jsonb(t) as row, ctid from ${table} t where ${scope} = $1`, [
      theirs.workspaceId,
    ])
    assert.ok(rows.length > 0, 'the table has no row to test with')
    const columns = await writtenColumns(query, table)
    const before = await query(`select to_jsonb(t) as row from ${table} t order by 1`)
    for (const setting of [mine.workspaceId, '', null]) {
      const own = setting === mine.workspaceId
      const can = async (privilege: string) =>
        (await query(`select has_table_privilege('keyrail_app', $1, $2) as can`, [table, privilege]))[0].can
      if (await can('select')) {
        const seen = await asApp({ workspaceId: setting }, `select ${scope}::text as of from ${table}`)
        const expected = own ? new Set([mine.workspaceId]) : new Set()
        assert.deepEqual(new Set(seen.rows?.map(({ of }) => of)), expected)
      } else {
        assert.equal((await asApp({ workspaceId: setting }, `select from ${table}`)).code, '42501')
      }
      assert.equal(
        (
          await asApp(
            { workspaceId: setting },
            `insert into ${table} (${columns}) select ${columns} from jsonb_populate_record(null::${table}, $1)`,
            [JSON.stringify(rows[0].row)],
          )
        ).code,
        '42501',
        'inserted',
      )
      // Without the right to read, a condition is refused too. With it, the rows are invisible.
      const change = await asApp(
        { workspaceId: setting },
        `update ${table} set ${scope} = ${scope} where ${scope} = '${theirs.workspaceId}'`,
      )
      assert.ok(change.code === '42501' || change.count === 0, 'updated')
      const removal = await asApp(
        { workspaceId: setting },
        `delete from ${table} where ${scope} = '${theirs.workspaceId}'`,
      )
      assert.ok(removal.code === '42501' || removal.count === 0, 'deleted')
      for (const ddl of ['truncate', 'drop table']) {
        assert.equal((await asApp({ workspaceId: setting }, `${ddl} ${table}`)).code, '42501', ddl)
      }
      assert.equal(
        (await asApp({ workspaceId: setting }, `alter table ${table} disable row level security`)).code,
        '42501',
      )
    }
    assert.deepEqual(await query(`select to_jsonb(t) as row from ${table} t order by 1`), before)
  })

  test(`${table}: a workspace cannot hand a row to another workspace`, async () => {
    const moved = await asApp(
      { workspaceId: mine.workspaceId },
      `update ${table} set ${scope} = '${theirs.workspaceId}'`,
    )
    assert.equal(moved.code, '42501')
  })
}

test('the role cannot change audit rows, and reads neither credentials nor service secrets', async () => {
  const { workspaceId } = mine
  for (const statement of [
    `update audit_logs set payload = '{}'`,
    'delete from audit_logs',
    `update audit_addresses set address = 'x'`,
    'delete from audit_addresses',
    `update audit_callers set ip = 'x'`,
    'delete from audit_callers',
    'delete from audit_heads',
    'select from credentials',
    'update credentials set id = id',
    'delete from credentials',
    'select from service_secrets',
    'select from signing_keys',
    'insert into signing_keys select',
    'delete from signing_keys',
    'select from keyrail_migrations',
    'select from store_levels',
    'select from store_timelines',
    'select from letter_counts',
    'insert into letter_counts select',
    'delete from letter_counts',
    'select from mail_throttles',
    'insert into mail_throttles select',
    'delete from mail_throttles',
    'delete from workspace_members',
    'delete from workspace_invites',
    'select from workspace_slugs',
    'delete from workspaces',
    'delete from api_keys',
  ]) {
    assert.equal((await asApp({ workspaceId }, statement)).code, '42501', statement)
  }
})

/** Statements that the operator runs across workspaces. No request reaches them. */
const wholeInstallation: Record<string, string> = {
  'invites/restored.ts': 'no link from before a backup is used after it is restored',
  'people/removal.ts': 'an erased person is removed from every workspace',
  'policy/raise.ts': 'the versions of every workspace are raised',
  'workspace/ranking-sql.ts': 'the operator compares workspaces',
  'workspace/restored.ts': 'no link from before a backup is used after it is restored',
}

test('every statement names the workspace for every workspace table that it touches', () => {
  const mention = new RegExp(
    `\\b(?:from|join|into|update|table|truncate)\\s+(?:only\\s+)?(${scoped.join('|')})\\b`,
    'gi',
  )
  let seen = 0
  const exempt = new Set<string>()
  for (const file of serviceFiles()) {
    const path = file.path.replace('packages/server/src/', '')
    for (const text of stringsOf(file)) {
      const touched = [...text.matchAll(mention)].map(([, table = '']) => table)
      if (touched.length === 0) continue
      seen += 1
      if (wholeInstallation[path] !== undefined) {
        exempt.add(path)
        continue
      }
      // The table of workspaces is keyed by the workspace's own id.
      const own = touched.includes('workspaces') && /\bid = (?:\$1|u\.workspace_id)|\(id, /.test(text) ? 1 : 0
      // The query for a person's workspaces names the person.
      const byPerson = touched.includes('workspace_members') && /\buser_id = \$1/.test(text) ? 1 : 0
      // The credential of a session belongs to no workspace.
      const ofSession = touched.includes('credentials') && text.includes(`kind = 'session'`) ? 1 : 0
      // Searches all workspaces for invitations of an address, and returns only yes or no.
      const byAddress = text.startsWith('select d.place ') && text.includes('d.address_key') ? 1 : 0
      const named = mentionsOf('workspace_id', text, file) + own + byPerson + ofSession + byAddress
      assert.ok(
        named >= touched.length,
        `${path} touches ${touched.join(', ')} and names the workspace ${named} times: ${text}`,
      )
    }
  }
  assert.ok(seen > 30, 'the search found too few statements')
  assert.deepEqual([...exempt], Object.keys(wholeInstallation))
})

/** Makes a workspace with a row in every table. */
async function makeFullWorkspace() {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live, body: { name: 'New Name' } })
  await ask('PATCH', '/v1/workspace', { token: vendor.live, body: { billing_email: 'billing@example.com' } })
  await ask('POST', '/v1/projects', {
    token: vendor.live,
    headers: { 'idempotency-key': 'one' },
    body: { name: 'n', slug: uniqueSlug() },
  })
  const since = `project_id=${vendor.projectId}&since=1&node=one`
  await ask('GET', `/v1/policy/delta?${since}`, { token: vendor.live })
  await spendOnce(harness, vendor)
  await answerOnce(harness, vendor)
  await useOnce(harness, vendor)
  await leakOnce(harness, vendor)
  await endOnce(harness, vendor)
  await changeManyOnce(harness, vendor)
  await makePerson(query, { workspaceId: vendor.workspaceId })
  await makeInvite(harness, vendor)
  // Belongs to no workspace, so no workspace sees it.
  await ask('POST', '/v1/workspaces', {
    token: bootstrapToken,
    headers: { 'idempotency-key': uniqueSlug() },
    body: { name: 'n', slug: uniqueSlug() },
  })
  await harness.deps.workspaceLoads.flush()
  return vendor
}
