import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeInvite, makeSecretKey, makeVendor } from './vendor.ts'

/** A missing role is refused before the request is examined, and no route leads from a role to a higher one. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { workspaceId } = vendor
const member = await makePerson(query, { workspaceId, role: 'member' })
const admin = await makePerson(query, { workspaceId, role: 'admin' })
const owner = await makePerson(query, { workspaceId, role: 'owner' })
const makeAdminKey = () => makeSecretKey(harness, { live: admin.token })
const [usedKey, sparedKey] = [await makeAdminKey(), await makeAdminKey()]

/** A count has a filter in its body. */
const isSafe = ({ method, operation }: Route) => method === 'GET' || operation === 'countKeys'
/** Routes of a workspace. A person's own account is theirs in every role, so its routes are left out. */
const ofWorkspaces = routes.filter(({ plane }) => !['open', 'codehost', 'person'].includes(plane))

/** Requests that are wrong for a caller with the right role: 404, 400 twice, 415. */
const wrong = (route: Route) => {
  const parameter = parameterOf(route.path)
  const url = route.path.replace(/:\w+/, randomUUID())
  const json = { 'content-type': 'application/json' }
  return [
    ...(parameter === undefined ? [] : [{ url, payload: '{}', headers: json }]),
    { url, payload: '{"unknown":1}', headers: json },
    { url, payload: '{', headers: json },
    { url, payload: 'x', headers: { 'content-type': 'text/plain' } },
  ]
}

for (const route of ofWorkspaces.filter(route => !isSafe(route))) {
  test(`${nameOf(route)} refuses a member before it validates the request`, async () => {
    const { url, body, token } = await sampleOf(route, harness, vendor)
    const right = {
      url,
      payload: JSON.stringify(body ?? {}),
      headers: { 'content-type': 'application/json' },
    }
    const before = await dump(query)
    for (const { url, payload, headers } of [right, ...wrong(route)]) {
      const sent = await sendBytes(harness, route.method, url, { token: member.token, payload, headers })
      assert.equal(sent.status, 403, JSON.stringify(sent.body))
      assert.ok(['forbidden', 'owner_required', 'credential_not_accepted'].includes(sent.body.code))
      assert.equal(sent.body.code === 'credential_not_accepted', !takesSessions(route))
    }
    assert.deepEqual(await dump(query), before)
    // The same requests are wrong for an allowed caller, so the 403 came first.
    for (const { url, payload, headers } of wrong(route)) {
      const { status } = await sendBytes(harness, route.method, url, { token, payload, headers })
      assert.ok([400, 404, 415].includes(status), `${payload} to ${url} answered ${status}`)
    }
  })
}

test('a member can read the workspace’s data', async () => {
  for (const route of ofWorkspaces.filter(isSafe).filter(takesSessions)) {
    // Only owners may read security events, as the matrix says.
    if (route.operation === 'listSecurityEvents') continue
    const { url, body: payload } = await sampleOf(route, harness, vendor)
    const headers = { authorization: `Bearer ${member.token}` }
    const request = { method: route.method, url, headers, ...(payload !== undefined && { payload }) }
    assert.equal((await harness.app.inject(request)).statusCode, 200, nameOf(route))
  }
})

for (const [who, token] of [
  ['an admin’s session', admin.token],
  ['an admin’s secret key', usedKey.key],
] as const) {
  test(`${who} gains no owner’s rights on any route`, async () => {
    assert.ok(token)
    let refused = 0
    for (const route of routes) {
      for (const { url, body } of await tries(route)) {
        const before = await ownersOf(workspaceId)
        const sent = await ask(route.method, url, { token, ...(body !== undefined && { body }) })
        const what = `${nameOf(route)} ${JSON.stringify(body)} answered ${JSON.stringify(sent.body)}`
        for (const found of await ownersOf(workspaceId)) assert.ok(before.has(found), `${found} by ${what}`)
        // An admin can only remove or demote members other than owners.
        for (const was of before)
          if (was.startsWith('member')) assert.ok((await ownersOf(workspaceId)).has(was), `${was} by ${what}`)
        if (sent.body.code === 'owner_required') refused += 1
        // A returned key acts only in its role, not as an owner of this workspace.
        const key = sent.body.key
        if (typeof key === 'string' && key.startsWith('krsk_')) await assertNoOwner(key)
      }
    }
    assert.ok(refused >= 10, `${refused} requests were refused for lack of the owner role`)
  })
}

/** The sample request of a route, plain and with every value that could make someone an owner. */
async function tries(route: Route): Promise<{ url: string; body?: Record<string, unknown> }[]> {
  // These end the session that sends them, and change no role.
  if (route.operation === 'endCurrentSession') return []
  const { url, body } = await sampleOf(route, harness, vendor)
  const meant = { url, ...(body !== undefined && { body }) }
  const ids = parameterOf(route.path) === undefined ? [] : await targets()
  const urls = [url, ...ids.map(id => route.path.replace(/:\w+/, id))]
  const bodies = [{ ...body, role: 'owner' }, { role: 'owner' }, { role: 'owner', email: admin.email }, {}]
  return [meant, ...urls.flatMap(url => bodies.map(body => ({ url, ...(!isSafe(route) && { body }) })))]
}

/** An admin's targets: the admin, an owner, an owner's key, an invitation as owner. */
async function targets(): Promise<string[]> {
  const key = await makeSecretKey(harness, vendor)
  const invite = await makeInvite(harness, vendor)
  await query(`update workspace_invites set role = 'owner' where id = $1`, [invite.id])
  return [admin.userId, owner.userId, sparedKey.id, key.id, invite.id]
}

/** Every member, key and invitation that is or can become an owner of a workspace. */
async function ownersOf(id: string): Promise<Set<string>> {
  const rows = await query(
    `select 'member ' || user_id as found from workspace_members
     where workspace_id = $1 and role = 'owner' and removed_at is null
     union all select 'secret key ' || id from secret_keys
     where workspace_id = $1 and role = 'owner' and revoked_at is null
     union all select 'invitation ' || id from workspace_invites
     where workspace_id = $1 and role = 'owner' and revoked_at is null and accepted_at is null`,
    [id],
  )
  return new Set(rows.map(({ found }) => found))
}

async function assertNoOwner(key: string): Promise<void> {
  const body = { email: `${randomBytes(6).toString('hex')}@example.com`, role: 'owner' }
  const { status, body: answer } = await ask('POST', '/v1/invites', { token: key, body })
  assert.equal(status, 403, JSON.stringify(answer))
}

function takesSessions({ access }: Route): boolean {
  return !access.open && access.credentials.includes('session')
}
