import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { mintToken, setOrigins } from './embed.ts'
import { startHarness } from './harness.ts'
import { addMember, makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'

/** The header `Keyrail-Workspace`, on every route that takes a credential. */
const harness = await startHarness()
const { app, ask, query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)
const owner = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })

const stating = (workspaceId: string) => ({ 'keyrail-workspace': workspaceId })

/** The workspace in which a credential acts; null when it acts in none. */
async function workspaceOf(token: string): Promise<string | null> {
  if (token.split('.').length === 3) {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).wid
  }
  const [row] = await query(
    `select coalesce(c.workspace_id, s.acts_in) as id from credentials c left join sessions s on s.id = c.id
     where c.digest = $1`,
    [hash('sha256', token, 'buffer')],
  )
  return row?.id ?? null
}

for (const route of routes.filter(({ access }) => !access.open)) {
  test(`${nameOf(route)} refuses another Keyrail-Workspace before it does anything`, async () => {
    const { url, token, body } = await sampleOf(route, harness, vendor)
    assert.ok(token)
    const takesSessions = !route.access.open && route.access.credentials.includes('session')
    const send = (token: string, value: string | string[]) =>
      sendBytes(harness, route.method, url, {
        token,
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          'keyrail-workspace': value,
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      })
    const before = await dump(query)
    const own = await workspaceOf(token)
    for (const caller of [token, ...(takesSessions ? [owner.token] : [])]) {
      for (const id of [randomUUID(), other.workspaceId]) {
        const { status, body } = await send(caller, id)
        assert.deepEqual([status, body.code], [409, 'workspace_changed'], JSON.stringify(body))
      }
      for (const value of ['', 'acme', `${own}0`, [own ?? randomUUID(), own ?? randomUUID()]]) {
        const { status, body } = await send(caller, value)
        assert.deepEqual([status, body.errors?.[0].path], [400, 'Keyrail-Workspace'], `${value}`)
      }
    }
    assert.deepEqual(await dump(query), before)
    if (own === null) return
    const { status, body: answer } = await send(token, own.toUpperCase())
    assert.equal(status, route.answer.status, JSON.stringify(answer))
  })
}

test('a wrong credential is 401, whatever workspace it states', async () => {
  for (const value of [vendor.workspaceId, other.workspaceId, 'acme']) {
    const { status } = await ask('GET', '/v1/keys', { token: 'krsk_live_nobody', headers: stating(value) })
    assert.equal(status, 401)
  }
})

test('a route without credentials ignores the workspace that a request states', async () => {
  const { status } = await ask('GET', '/healthz', { headers: stating('acme') })
  assert.equal(status, 200)
})

test('a person without the right in the entered workspace learns that it is another one', async () => {
  const { token, userId } = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  await addMember(query, other.workspaceId, userId, 'member')
  await enter(token, other.workspaceId)
  const { status, body } = await ask('POST', '/v1/projects', {
    token,
    headers: stating(vendor.workspaceId),
    body: { name: 'Stale', slug: 'stale' },
  })
  assert.deepEqual([status, body.code], [409, 'workspace_changed'])
})

test('a session moves from a stale page, unless the page states the workspace that it left', async () => {
  const { token, userId } = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  await addMember(query, other.workspaceId, userId, 'owner')
  await enter(token, other.workspaceId)
  const refused = await ask('POST', '/v1/auth/sessions/current/workspace', {
    token,
    headers: stating(vendor.workspaceId),
    body: { workspace_id: vendor.workspaceId },
  })
  assert.deepEqual([refused.status, refused.body.code], [409, 'workspace_changed'])
  await enter(token, vendor.workspaceId)
  await enter(token, other.workspaceId, stating(vendor.workspaceId))
  assert.equal(await workspaceOf(token), other.workspaceId)
})

test('a removed member’s session no longer acts in the workspace that it states', async () => {
  const { token, userId } = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin' })
  const me = () => ask('GET', '/v1/auth/me', { token, headers: stating(vendor.workspaceId) })
  assert.equal((await me()).status, 200)
  await query('update workspace_members set removed_at = service_now() where user_id = $1', [userId])
  const { status, body } = await me()
  assert.deepEqual([status, body.code], [409, 'workspace_changed'])
})

test('an allowed page may send the header and read the refusal', async () => {
  const origin = 'https://app.example.com'
  await setOrigins(harness, vendor, [origin])
  const preflight = await app.inject({ method: 'OPTIONS', url: '/v1/embed/keys', headers: { origin } })
  assert.match(String(preflight.headers['access-control-allow-headers']), /\bkeyrail-workspace\b/)
  const { status, headers } = await ask('GET', '/v1/embed/keys', {
    token: await mintToken(harness, vendor),
    headers: { origin, ...stating(other.workspaceId) },
  })
  assert.deepEqual([status, headers['access-control-allow-origin']], [409, origin])
})

async function enter(token: string, workspaceId: string, headers: Record<string, string> = {}) {
  const { status, body } = await ask('POST', '/v1/auth/sessions/current/workspace', {
    token,
    headers,
    body: { workspace_id: workspaceId },
  })
  assert.equal(status, 200, JSON.stringify(body))
}
