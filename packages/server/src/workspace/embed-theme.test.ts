import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeVendor } from '../../test/vendor.ts'

/** How the embed widget looks: set by the vendor's staff, read by the browsers of its customers. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const unset = { accent: null, radius: null, logo_text: null }

const set = (embed_theme: unknown, token = vendor.live) =>
  ask('PATCH', '/v1/workspace', { token, body: { embed_theme } })
const auditRows = async () =>
  (await query('select count(*)::int as n from audit_logs where workspace_id = $1', [vendor.workspaceId]))[0]
    .n

test('a workspace has no theme until somebody sets one', async () => {
  const { body } = await ask('GET', '/v1/workspace', { token: vendor.live })
  assert.deepEqual(body.embed_theme, unset)
  const { body: session } = await ask('GET', '/v1/embed/session', { token: await mintToken(harness, vendor) })
  assert.deepEqual(session.theme, unset)
})

test('a change of the theme shows in the next session, and is audited once', async () => {
  const token = await mintToken(harness, vendor)
  const theme = async () => (await ask('GET', '/v1/embed/session', { token })).body.theme
  const first = { accent: '#1D6a58', radius: 8, logo_text: 'Acme <b>API</b>' }
  assert.deepEqual((await set(first)).body.embed_theme, first)
  assert.deepEqual(await theme(), first)
  const second = { ...first, radius: 0 }
  assert.deepEqual((await set({ radius: 0 })).body.embed_theme, second)
  const { body } = await ask('GET', '/v1/audit_logs?order=desc&limit=1', { token: vendor.live })
  const [row] = body.data
  assert.deepEqual(
    [row.action, row.actor_id, row.payload],
    ['workspace.updated', vendor.liveId, { embed_theme: { old: first, new: second } }],
  )
  const rows = await auditRows()
  for (const same of [{}, { radius: 0 }, second]) assert.equal((await set(same)).status, 200)
  assert.equal(await auditRows(), rows)
  assert.deepEqual((await set({ accent: null, logo_text: null, radius: null })).body.embed_theme, unset)
  assert.deepEqual(await theme(), unset)
})

test('a theme has no place for scripts, styles or addresses of images', async () => {
  for (const [theme, path] of [
    [{ accent: 'red' }, 'embed_theme.accent'],
    [{ accent: '#fff' }, 'embed_theme.accent'],
    [{ accent: '#123456;background:url(//x)' }, 'embed_theme.accent'],
    [{ radius: 25 }, 'embed_theme.radius'],
    [{ radius: '8px' }, 'embed_theme.radius'],
    [{ logo_text: '' }, 'embed_theme.logo_text'],
    [{ logo_text: 'x'.repeat(41) }, 'embed_theme.logo_text'],
    [{ logo_url: 'https://evil.example/logo.svg' }, 'embed_theme.logo_url'],
    [null, 'embed_theme'],
  ] as const) {
    const { status, body } = await set(theme)
    assert.deepEqual([status, body.errors?.[0]?.path], [400, path], JSON.stringify(theme))
  }
})

test('an admin sets the theme; a member and a test key read it', async () => {
  const { workspaceId } = vendor
  const admin = await makePerson(query, { workspaceId, role: 'admin' })
  assert.equal((await set({ radius: 4 }, admin.token)).status, 200)
  const member = await makePerson(query, { workspaceId, role: 'member' })
  for (const token of [member.token, vendor.test]) {
    assert.equal((await set({ radius: 5 }, token)).status, 403)
    assert.equal((await ask('GET', '/v1/workspace', { token })).body.embed_theme.radius, 4)
  }
})
