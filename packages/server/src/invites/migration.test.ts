import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../test/database.ts'
import { migrate, migrations } from '../platform/db/migrate/migrate.ts'

const database = await makeDatabase(testCluster(), true)
await migrate(database.connection, { upTo: migrations[migrations.indexOf('0021_makers') - 1] })
const client = new pg.Client(database.connection)
await client.connect()
after(async () => {
  await client.end()
  await database.drop()
})
const run = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows

const workspaceId = randomUUID()
const [owner, leaver] = [randomUUID(), randomUUID()]
await run(
  `insert into workspaces (id, name, slug, created_at, updated_at) values ($1, 'Old', 'old', now(), now())`,
  [workspaceId],
)
const addMember = (userId: string, isGone: boolean) =>
  run(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, removed_at)
     values ($1, $2, 'owner', now(), case when $3 then now() end)`,
    [workspaceId, userId, isGone],
  )
async function addKey(type: string, maker: string, isRevoked = false): Promise<string> {
  const id = randomUUID()
  await run(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, display_prefix, revoked_at, created_at)
     values ($1, $2, 'live', 'owner', $3, $4, 'krsk_live_abcd', case when $5 then now() end, now())`,
    [workspaceId, id, type, maker, isRevoked],
  )
  return id
}
let seq = 0
/** As the previous release wrote it: a person in `invited_by`, a key in the audit log only. */
async function addInvite(type: 'user' | 'secret_key', maker: string): Promise<string> {
  const id = randomUUID()
  await run(
    `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, invited_by, created_at, expires_at)
     values ($1, $2, 'a@example.com', 'a@example.com', 'owner', sha256('a'), $3, now(), now() + interval '7 days')`,
    [workspaceId, id, type === 'user' ? maker : null],
  )
  seq += 1
  await run(
    `insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, payload, created_at,
       prev_hash, hash)
     values ($1, $2, 'workspace_invite.created', $3, $4, 'workspace_invite', $5, '{}', now(), sha256('a'), sha256('b'))`,
    [workspaceId, seq, type, maker, id],
  )
  return id
}

test('the migration finds the makers of old invitations and ends those of ended makers', async () => {
  await addMember(owner, false)
  await addMember(leaver, true)
  const [kept, revoked, ofLeaver] = [
    await addKey('user', owner),
    await addKey('user', owner, true),
    await addKey('user', leaver),
  ]
  const below = await addKey('secret_key', revoked)
  const made: [type: 'user' | 'secret_key', maker: string, isPending: boolean][] = [
    ['user', owner, true],
    ['secret_key', kept, true],
    ['secret_key', revoked, false],
    ['secret_key', below, false],
    ['secret_key', ofLeaver, false],
  ]
  const expected = new Map<string, object>()
  for (const [type, maker, isPending] of made)
    expected.set(await addInvite(type, maker), { type, maker, isPending })

  assert.ok((await migrate(database.connection)).includes('0021_makers'))
  const rows = await run(
    `select id, created_by_type as type, created_by_id as maker, expires_at > service_now() as "isPending"
     from workspace_invites`,
  )
  assert.equal(rows.length, made.length)
  for (const { id, ...row } of rows) assert.deepEqual(row, expected.get(id))
})

test('a process of the previous release can still write its rows', async () => {
  const [key, invitation] = [
    await addKey('bootstrap', randomUUID()),
    await addInvite('secret_key', randomUUID()),
  ]
  const [row] = await run('select created_by_type from workspace_invites where id = $1', [invitation])
  assert.deepEqual([typeof key, row], ['string', { created_by_type: null }])
})
