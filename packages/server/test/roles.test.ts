import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { makeInvite } from './mutations.ts'
import { makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'

/** What a role does not allow is refused before anything is looked at, and no way leads from one role to a higher one. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { workspaceId } = vendor
const member = await makePerson(query, { workspaceId, role: 'member' })
const admin = await makePerson(query, { workspaceId, role: 'admin' })
const owner = await makePerson(query, { workspaceId, role: 'owner' })
const makeAdminKey = async () =>
  (await ask('POST', '/v1/secret_keys', { token: admin.token, body: { env: 'live' } })).body
const [usedKey, sparedKey] = [await makeAdminKey(), await makeAdminKey()]

const isSafe = ({ method }: Route) => method === 'GET'
/** All that is asked in a workspace: what a person does to their own account is theirs, whatever they are elsewhere. */
const ofWorkspaces = routes.filter(({ plane }) => !['open', 'webhook', 'person'].includes(plane))

/** Requests that whoever may call a route is told are wrong: 404, 400 twice, 415. */
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
  test(`${nameOf(route)} refuses a member before it looks at the request, and does nothing`, async () => {
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
    // The same are wrong to somebody who may: so the 403 came first.
    for (const { url, payload, headers } of wrong(route)) {
      const { status } = await sendBytes(harness, route.method, url, { token, payload, headers })
      assert.ok([400, 404, 415].includes(status), `${payload} to ${url} answered ${status}`)
    }
  })
}

test('a member reads what the workspace has', async () => {
  for (const route of ofWorkspaces.filter(isSafe).filter(takesSessions)) {
    // Who was refused is for owners alone; the matrix says so.
    if (route.operation === 'listSecurityEvents') continue
    const { url } = await sampleOf(route, harness, vendor)
    const headers = { authorization: `Bearer ${member.token}` }
    assert.equal((await harness.app.inject({ url, headers })).statusCode, 200, nameOf(route))
  }
})

for (const [who, token] of [
  ['an admin’s session', admin.token],
  ['an admin’s secret key', usedKey.key],
] as const) {
  test(`${who} finds no way to an owner’s rights, whatever route it tries`, async () => {
    assert.ok(token)
    let refused = 0
    for (const route of routes) {
      for (const { url, body } of await tries(route)) {
        const before = await ownersOf(workspaceId)
        const sent = await ask(route.method, url, { token, ...(body !== undefined && { body }) })
        const what = `${nameOf(route)} ${JSON.stringify(body)} answered ${JSON.stringify(sent.body)}`
        for (const found of await ownersOf(workspaceId)) assert.ok(before.has(found), `${found} by ${what}`)
        // Who is removed or demoted by an admin was no owner.
        for (const was of before)
          if (was.startsWith('member')) assert.ok((await ownersOf(workspaceId)).has(was), `${was} by ${what}`)
        if (sent.body.code === 'owner_required') refused += 1
        // Whatever key was answered acts as its role says: not as an owner of this workspace.
        const key = sent.body.key
        if (typeof key === 'string' && key.startsWith('krsk_')) await assertNoOwner(key)
      }
    }
    assert.ok(refused >= 10, `${refused} were told that an owner is needed`)
  })
}

/** The request of a route as it is meant, and with all that could make an owner of somebody. */
async function tries(route: Route): Promise<{ url: string; body?: Record<string, unknown> }[]> {
  // These end the session that asks, and no role depends on what they do.
  if (route.operation === 'endCurrentSession') return []
  const { url, body } = await sampleOf(route, harness, vendor)
  const meant = { url, ...(body !== undefined && { body }) }
  const ids = parameterOf(route.path) === undefined ? [] : await targets()
  const urls = [url, ...ids.map(id => route.path.replace(/:\w+/, id))]
  const bodies = [{ ...body, role: 'owner' }, { role: 'owner' }, { role: 'owner', email: admin.email }, {}]
  return [meant, ...urls.flatMap(url => bodies.map(body => ({ url, ...(!isSafe(route) && { body }) })))]
}

/** Who and what an admin would aim at: themselves, an owner, an owner's key, an invitation to be one. */
async function targets(): Promise<string[]> {
  const key = await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })
  const invite = await makeInvite({ ask, scene: vendor })
  await query(`update workspace_invites set role = 'owner' where id = $1`, [invite.id])
  return [admin.userId, owner.userId, sparedKey.id, key.body.id, invite.id]
}

/** Every way in which somebody is an owner of a workspace, or may become one. */
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
