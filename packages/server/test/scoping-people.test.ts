import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openAsApp } from './as-app.ts'
import { startHarness } from './harness.ts'
import { addMember, makeMailedToken, makePerson, personalTables } from './people.ts'
import { mentionsOf, serviceFiles, stringsOf } from './source-files.ts'
import { makeVendor } from './vendor.ts'

/**
 * Persons are isolated twice, as workspaces are: statements name the person, and row-level security shows a
 * transaction only its person's rows. Each is tested without the other.
 */
const harness = await startHarness()
const { query } = harness
const asApp = await openAsApp(harness)
const [here, there] = [await makeVendor(harness), await makeVendor(harness)]
const [mine, theirs] = [await makeWholePerson(), await makeWholePerson()]
const colleague = await makePerson(query, { workspaceId: here.workspaceId })
for (const { userId } of [mine, theirs]) await addMember(query, there.workspaceId, userId, 'member')
const own = { userId: mine.userId }

const ownerOf = (table: string) => (table === 'users' ? 'id' : 'user_id')

for (const table of personalTables) {
  const owner = ownerOf(table)

  test(`${table}: another person’s rows cannot be read, written, changed or removed`, async () => {
    const rows = await query(`select to_jsonb(t) as row from ${table} t where ${owner} = $1`, [theirs.userId])
    assert.ok(rows.length > 0, 'the table has no row to test with')
    const before = await query(`select to_jsonb(t) as row from ${table} t order by 1`)
    for (const userId of [mine.userId, '', null]) {
      const seen = await asApp({ userId }, `select ${owner}::text as of from ${table}`)
      const expected = userId === mine.userId ? new Set([userId]) : new Set()
      assert.deepEqual(new Set(seen.rows?.map(({ of }) => of)), expected)
      const copy = `insert into ${table} select (jsonb_populate_record(null::${table}, $1)).*`
      assert.equal((await asApp({ userId }, copy, [JSON.stringify(rows[0].row)])).code, '42501', 'inserted')
      const change = `update ${table} set ${owner} = ${owner} where ${owner} = '${theirs.userId}'`
      assert.equal((await asApp({ userId }, change)).count, 0, 'updated')
      for (const statement of [`delete from ${table}`, `truncate ${table}`, `drop table ${table}`])
        assert.equal((await asApp({ userId }, statement)).code, '42501', statement)
    }
    assert.deepEqual(await query(`select to_jsonb(t) as row from ${table} t order by 1`), before)
  })

  test(`${table}: a person cannot hand a row to another person`, async () => {
    const { code } = await asApp(own, `update ${table} set ${owner} = '${theirs.userId}'`)
    assert.equal(code, '42501')
  })

  test(`${table}: a workspace sees its members, and none of their private data`, async () => {
    const { rows } = await asApp(
      { workspaceId: here.workspaceId },
      `select ${owner}::text as of from ${table}`,
    )
    const expected = table === 'users' ? [colleague.userId] : []
    assert.deepEqual(
      rows?.map(({ of }) => of),
      expected,
    )
    const change = await asApp({ workspaceId: here.workspaceId }, `update ${table} set ${owner} = ${owner}`)
    assert.ok(change.code === '42501' || change.count === 0, 'updated')
  })
}

test('security_events: persons and workspaces add and read their own, and change none', async () => {
  const nowhere = '00000000-0000-0000-0000-000000000000'
  const add = `insert into security_events (workspace_id, id, kind, user_id, count, details, created_at, last_at)
    values ($1, gen_random_uuid(), 'sign_in_failed', $2, 1, '{}', now(), now())`
  for (const userId of [mine.userId, theirs.userId, colleague.userId]) await query(add, [nowhere, userId])
  const seen = async (scope: object) =>
    (await asApp(scope, `select distinct user_id from security_events where kind = 'sign_in_failed'`)).rows
  assert.deepEqual(await seen(own), [{ user_id: mine.userId }])
  assert.deepEqual(await seen({ workspaceId: here.workspaceId }), [{ user_id: colleague.userId }])
  assert.deepEqual(await seen({ userId: '' }), [])
  const code = async (...values: string[]) => (await asApp(own, add, values)).code
  assert.deepEqual(
    [await code(nowhere, mine.userId), await code(there.workspaceId, mine.userId)],
    [undefined, undefined],
  )
  assert.deepEqual(
    [await code(nowhere, theirs.userId), await code(here.workspaceId, mine.userId)],
    ['42501', '42501'],
  )
  for (const statement of [`update security_events set count = 2`, 'delete from security_events'])
    assert.equal((await asApp(own, statement)).code, '42501')
})

test('a person sees their workspaces from any workspace, and can change none of them', async () => {
  const seen = await asApp(own, 'select workspace_id, user_id from workspace_members')
  assert.deepEqual(seen.rows, [{ workspace_id: there.workspaceId, user_id: mine.userId }])
  const workspaces = await asApp(own, 'select id from workspaces')
  assert.deepEqual(workspaces.rows, [{ id: there.workspaceId }])
  for (const statement of [
    `insert into workspace_members (workspace_id, user_id, role, joined_at)
     values ('${here.workspaceId}', '${mine.userId}', 'owner', now())`,
    `update workspaces set name = 'x'`,
  ]) {
    assert.equal((await asApp(own, statement)).code, '42501', statement)
  }
  assert.equal((await asApp(own, `update workspace_members set role = 'owner'`)).count, 0)
  for (const table of ['workspace_invites', 'secret_keys', 'projects', 'audit_logs'])
    assert.equal((await asApp(own, `select from ${table}`)).count, 0, table)
})

test('in a workspace, a person joins it and changes no other one', async () => {
  const scope = { ...own, workspaceId: here.workspaceId }
  const seen = await asApp(scope, 'select distinct user_id from workspace_members')
  const expected = [colleague.userId, mine.userId].toSorted()
  assert.deepEqual(seen.rows?.map(({ user_id }) => user_id).toSorted(), expected)
  const join = `insert into workspace_members (workspace_id, user_id, role, joined_at) values ($1, $2, 'owner', now())`
  assert.equal((await asApp(scope, join, [here.workspaceId, mine.userId])).count, 1)
  assert.equal((await asApp(scope, join, [randomUUID(), mine.userId])).code, '42501')
  assert.equal((await asApp(scope, join, [here.workspaceId, theirs.userId])).code, '42501')
  const promote = `update workspace_members set role = 'owner' where workspace_id = $1`
  assert.equal((await asApp(scope, promote, [there.workspaceId])).count, 0)
  const move = `update workspace_members set workspace_id = $1, role = 'owner' where workspace_id = $2`
  assert.equal((await asApp(scope, move, [here.workspaceId, there.workspaceId])).code, '42501')
})

test('a removed member no longer sees the workspace, which still sees the member', async () => {
  const { workspaceId } = await makeVendor(harness)
  const { userId } = await makePerson(query, { workspaceId })
  await query('update workspace_members set removed_at = now() where workspace_id = $1', [workspaceId])
  assert.deepEqual((await asApp({ userId }, 'select id from workspaces')).rows, [])
  assert.deepEqual((await asApp({ workspaceId }, 'select id from users')).rows, [{ id: userId }])
})

test('a credential without a workspace is a session, and only its person can add it', async () => {
  const add = 'insert into credentials (digest, kind, workspace_id, id) values (sha256($1), $2, null, $3)'
  const values = (kind: string) => [randomUUID(), kind, mine.sessionId]
  assert.equal((await asApp(own, add, values('session'))).count, 1)
  for (const kind of ['secret_key', 'api_key'])
    assert.equal((await asApp(own, add, values(kind))).code, '42501', kind)
  assert.equal((await asApp({ workspaceId: here.workspaceId }, add, values('session'))).code, '42501')
  // Nor for another person's session, whatever workspace the row names.
  const foreign = `insert into credentials (digest, kind, workspace_id, id) values (sha256($1), 'session', $2, $3)`
  for (const workspaceId of [null, here.workspaceId]) {
    const scope = { ...own, workspaceId: here.workspaceId }
    const text = [randomUUID(), workspaceId, theirs.sessionId]
    assert.equal((await asApp(scope, foreign, text)).code, '42501', `${workspaceId}`)
  }
})

test('a person’s transaction leaves no scope behind on its connection', async () => {
  const { db } = harness
  const scopes = await Promise.all(
    Array.from({ length: 40 }, (_, i) => {
      const { userId } = i % 2 === 0 ? mine : theirs
      const read = { name: 'scope', text: 'select user_id from sessions' }
      return i % 4 < 2
        ? db.asPerson(userId, tx => tx.query<{ user_id: string }>(read as never)).then(rows => [userId, rows])
        : db
            .inWorkspace(here.workspaceId, tx => tx.query<{ user_id: string }>(read as never))
            .then(rows => ['', rows])
    }),
  )
  for (const [userId, rows] of scopes as [string, { user_id: string }[]][])
    assert.deepEqual([...new Set(rows.map(({ user_id }) => user_id))], userId === '' ? [] : [userId])
})

/** Statements that are not about one person, by a part of their text. */
const ofAnybody: Record<string, string> = {
  'd(address_key, place)': 'an account is looked up by its address before sign-in',
  'from users limit 1': 'the first visit of an installation asks whether there is any account',
  'd(digest, place)': 'a session is looked up by its digest before sign-in',
  'last_seen_at = service_now()': 'records the last use of the sessions it found',
  "interval '30 days'": 'upkeep removes old rows of every person',
}
/** Statements that only the operator runs. */
const ofOperator = ['people/removal.ts', 'people/restored.ts']

test('every statement names the person for every table of persons that it touches', () => {
  const mention = new RegExp(
    `\\b(?:from|join|into|update|table|truncate)\\s+(?:only\\s+)?(${personalTables.join('|')})\\b`,
    'gi',
  )
  const exempt = new Set<string>()
  let seen = 0
  for (const file of serviceFiles()) {
    const path = file.path.replace('packages/server/src/', '')
    for (const text of stringsOf(file)) {
      const touched = [...text.matchAll(mention)].map(([, table = '']) => table)
      if (touched.length === 0 || ofOperator.includes(path)) continue
      seen += 1
      const reason = Object.keys(ofAnybody).find(part => text.includes(part))
      if (reason !== undefined) {
        exempt.add(reason)
        continue
      }
      // The table of users is keyed by the person's own id.
      const ownId = touched.includes('users') && /\bid = |\(id, /.test(text) ? 1 : 0
      const named = mentionsOf('user_id', text, file) + ownId
      assert.ok(
        named >= touched.length,
        `${path} touches ${touched.join(', ')} without naming a person: ${text}`,
      )
    }
  }
  assert.ok(seen > 15, 'the search found too few statements')
  assert.deepEqual([...exempt].toSorted(), Object.keys(ofAnybody).toSorted())
})

/** Makes a person with a row in every table of persons. */
async function makeWholePerson() {
  const person = await makePerson(query)
  await makeMailedToken(query, person.userId, 'password_reset')
  await query('insert into disownings (user_id, began_at) values ($1, service_now())', [person.userId])
  return person
}
