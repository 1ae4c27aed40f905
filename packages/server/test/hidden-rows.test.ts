import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { reportPath, signedReport } from './codehost.ts'
import { type Heard, startHarness } from './harness.ts'
import { madePassword, makeMailedToken, makePerson, openSession } from './people.ts'
import { issueKey, makeInvite, makeSecretKey, makeVendor } from './vendor.ts'

/**
 * Row-level security turns a wrong workspace or person into "0 rows", without an error. Each call here ends a right
 * while no row can be changed: it must fail, and never say that the right has ended.
 */
const harness = await startHarness()
const { ask, query } = harness

const scene = await makeVendor(harness)
const { live, workspaceId } = scene
const person = await makePerson(query, { workspaceId, role: 'owner' })
const { token } = person
const another = await openSession(query, person.userId, workspaceId)
const leaked = await openSession(query, person.userId, workspaceId)
// What the end of all others finds.
await openSession(query, person.userId, workspaceId)
const member = await makePerson(query, { workspaceId, role: 'admin' })
const leaver = await makePerson(query, { workspaceId, role: 'member' })
const [key, leakedKey] = [await issueKey(harness, scene), await issueKey(harness, scene)]
const secretKey = await makeSecretKey(harness, scene, { env: 'live' })
const leakedSecretKey = await makeSecretKey(harness, scene, { env: 'live' })
const invite = await makeInvite(harness, scene)
const accepted = await makeInvite(harness, scene)
const joining = await makePerson(query)
/** An unproven account: a reset disowns what it made. */
const forgetful = await makePerson(query, { verified: false })
const resetToken = await makeMailedToken(query, forgetful.userId, 'password_reset')
await makeMailedToken(query, person.userId, 'password_reset')
const password = 'a longer and newer secret'

const report = (found: string) =>
  ask(
    'POST',
    reportPath,
    signedReport([{ token: found, type: 'key', url: 'https://x.example/a', source: 'content' }]),
  )
/** In an order in which each succeeds while rows can be changed. */
const calls: Record<string, () => Promise<Heard>> = {
  'changing a key': () => ask('PATCH', `/v1/keys/${key.id}`, { token: live, body: { name: 'changed' } }),
  'rotating a key': () => ask('POST', `/v1/keys/${key.id}/rotate`, { token: live }),
  'revoking a key': () => ask('POST', `/v1/keys/${key.id}/revoke`, { token: live }),
  'rotating a secret key': () => ask('POST', `/v1/secret_keys/${secretKey.id}/rotate`, { token: live }),
  'revoking a secret key': () => ask('POST', `/v1/secret_keys/${secretKey.id}/revoke`, { token: live }),
  'demoting a member': () =>
    ask('PATCH', `/v1/members/${member.userId}`, { token, body: { role: 'member' } }),
  'removing a member': () => ask('DELETE', `/v1/members/${member.userId}`, { token }),
  'leaving a workspace': () =>
    ask('POST', `/v1/auth/workspaces/${workspaceId}/leave`, { token: leaver.token }),
  'revoking an invitation': () => ask('POST', `/v1/invites/${invite.id}/revoke`, { token: live }),
  'accepting an invitation': () =>
    ask('POST', '/v1/auth/invites/accept', { token: joining.token, body: { token: accepted.token } }),
  'a leaked key': () => report(leakedKey.key),
  'a leaked secret key': () => report(leakedSecretKey.key),
  'suspending a tenant': () => ask('POST', `/v1/tenants/${scene.tenantId}/suspend`, { token: live }),
  'resuming a tenant': () => ask('POST', `/v1/tenants/${scene.tenantId}/resume`, { token: live }),
  'revoking embed tokens': () =>
    ask('POST', `/v1/tenants/${scene.tenantId}/embed_tokens/revoke`, { token: live }),
  'deleting a tenant': () => ask('DELETE', `/v1/tenants/${scene.tenantId}`, { token: live }),
  'deleting a project': () => ask('DELETE', `/v1/projects/${scene.projectId}`, { token: live }),
  'a leaked session': () => report(leaked.token),
  'ending another session': () => ask('DELETE', `/v1/auth/sessions/${another.sessionId}`, { token }),
  'ending all other sessions': () => ask('DELETE', '/v1/auth/sessions/others', { token }),
  'changing the password': () =>
    ask('POST', '/v1/auth/me/password', { token, body: { current_password: madePassword, password } }),
  'resetting the password': () =>
    ask('POST', '/v1/auth/password_resets/consume', { body: { token: resetToken, password } }),
  'signing out': () => ask('DELETE', '/v1/auth/sessions/current', { token }),
}
const tables = [
  'api_keys',
  'secret_keys',
  'workspace_members',
  'workspace_invites',
  'tenants',
  'projects',
  'sessions',
  'user_passwords',
]

/** Everything of these tables but the marks of use, which any call may write. */
const rightsNow = async () => {
  const rows: unknown[] = []
  for (const table of tables)
    rows.push(
      await query(
        `select to_jsonb(t) - 'last_used_at' - 'last_seen_at' as row from ${table} t order by t::text`,
      ),
    )
  return JSON.stringify(rows)
}

for (const [what, command] of Object.entries({ change: 'update', 'read or change': 'all' })) {
  describe(`where a transaction may ${what} no row`, () => {
    before(async () => {
      for (const table of tables)
        await query(
          `create policy hidden on ${table} as restrictive for ${command} to keyrail_app using (false)`,
        )
    })
    after(async () => {
      for (const table of tables) await query(`drop policy hidden on ${table}`)
    })
    for (const [name, call] of Object.entries(calls)) {
      test(`${name} fails, and nothing has changed`, async () => {
        const before = await rightsNow()
        const { status, body } = await call()
        assert.ok(status >= 400, `${status} ${JSON.stringify(body)}`)
        assert.equal(await rightsNow(), before)
      })
    }
  })
}

/** Where a transaction may change no row of one table, every call that ends rights in it and elsewhere fails as a whole. */
const alone: [table: string, names: string[]][] = [
  ['sessions', ['ending all other sessions', 'changing the password', 'resetting the password']],
  ['mail_tokens', ['changing the password', 'resetting the password']],
  ['users', ['resetting the password']],
]
for (const [table, names] of alone) {
  describe(`where a transaction may change no row of ${table}`, () => {
    before(() =>
      query(`create policy hidden on ${table} as restrictive for update to keyrail_app using (false)`),
    )
    after(() => query(`drop policy hidden on ${table}`))
    for (const name of names) {
      test(`${name} fails, and nothing has changed`, async () => {
        const before = await rightsNow()
        const { status, body } = (await calls[name]?.()) ?? { status: 0, body: null }
        assert.ok(status >= 400, `${status} ${JSON.stringify(body)}`)
        assert.equal(await rightsNow(), before)
      })
    }
  })
}

test('the same calls succeed where the rows can be changed', async () => {
  for (const [name, call] of Object.entries(calls)) {
    const { status, body } = await call()
    assert.ok(status < 300, `${name}: ${status} ${JSON.stringify(body)}`)
  }
})
