import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { bootstrapToken, startHarness } from '../../test/harness.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

test('the bootstrap token creates a workspace without members, with an owner’s key', async () => {
  const slug = uniqueSlug()
  const { status, body } = await ask('POST', '/v1/workspaces', {
    token: bootstrapToken,
    body: { name: 'Acme', slug, billing_email: 'billing@example.com', env: 'test' },
  })
  assert.equal(status, 201)
  assert.match(body.secret_key.key, /^krsk_test_/)
  assert.deepEqual(
    [body.secret_key.role, body.secret_key.created_by],
    ['owner', { type: 'bootstrap', id: null }],
  )
  const read = await ask('GET', '/v1/workspace', { token: body.secret_key.key })
  const { secret_key, ...workspace } = body
  assert.deepEqual(read.body, workspace)
  const rows = await query(
    'select seq, action, actor_type from audit_logs where workspace_id = $1 order by seq',
    [body.id],
  )
  assert.deepEqual(rows, [
    { seq: 1, action: 'workspace.created', actor_type: 'bootstrap' },
    { seq: 2, action: 'secret_key.created', actor_type: 'bootstrap' },
  ])
})

test('a workspace slug is unique in the whole service, and a refusal writes nothing', async () => {
  const slug = uniqueSlug()
  const body = { name: 'n', slug }
  assert.equal((await ask('POST', '/v1/workspaces', { token: bootstrapToken, body })).status, 201)
  const before = await query('select count(*) from workspaces')
  assert.equal((await ask('POST', '/v1/workspaces', { token: bootstrapToken, body })).body.code, 'slug_taken')
  assert.deepEqual(await query('select count(*) from workspaces'), before)
})

test('each created workspace is counted once, from 0 and without refusals and repeats', async () => {
  const { ask, deps } = await startHarness()
  const count = async () => /^keyrail_workspaces_created_total (\d+)$/m.exec(await deps.metrics.text())?.[1]
  assert.equal(await count(), '0')
  const body = { name: 'n', slug: uniqueSlug() }
  const again = { token: bootstrapToken, body, headers: { 'idempotency-key': 'one' } }
  for (const status of [201, 201]) assert.equal((await ask('POST', '/v1/workspaces', again)).status, status)
  const taken = { token: bootstrapToken, body: { ...body, name: 'other' } }
  assert.equal((await ask('POST', '/v1/workspaces', taken)).status, 409)
  assert.equal(await count(), '1')
})

test('only the bootstrap token and sessions create workspaces, and it can do nothing else', async () => {
  const made = await ask('POST', '/v1/workspaces', { token: live, body: { name: 'n', slug: uniqueSlug() } })
  assert.equal(made.body.code, 'credential_not_accepted')
  assert.equal(
    (await ask('GET', '/v1/workspace', { token: bootstrapToken })).body.code,
    'credential_not_accepted',
  )
})

test('the billing address is outside the audit chain, which verifies after its erasure', async () => {
  const body = { name: 'n', slug: uniqueSlug(), billing_email: 'first@example.com' }
  const created = await ask('POST', '/v1/workspaces', { token: bootstrapToken, body })
  const token = created.body.secret_key.key
  await ask('PATCH', '/v1/workspace', { token, body: { billing_email: 'second@example.com' } })
  const hashed = await query('select payload from audit_logs where workspace_id = $1', [created.body.id])
  assert.ok(!JSON.stringify(hashed).includes('@example.com'))

  const { body: logs } = await ask('GET', '/v1/audit_logs', { token })
  const [{ payload: first }, , { payload: change }] = logs.data
  assert.equal(first.billing_email, 'first@example.com')
  assert.equal(
    first.billing_email_hash,
    hash(
      'sha256',
      Buffer.concat([Buffer.from(first.billing_email_salt, 'base64'), Buffer.from('first@example.com')]),
    ),
  )
  assert.deepEqual(
    [change.billing_email.old, change.billing_email.new],
    ['first@example.com', 'second@example.com'],
  )

  await query('delete from audit_addresses where workspace_id = $1', [created.body.id])
  const chain = await ask('GET', '/v1/audit_logs/chain', { token })
  assert.equal(chain.body.valid, true)
  const erased = await ask('GET', '/v1/audit_logs', { token })
  assert.equal(erased.body.data[0].payload.billing_email, undefined)
})

test('embed origins are replaced as a list; an invalid one is refused by its index', async () => {
  const patch = (embed_origins: unknown) =>
    ask('PATCH', '/v1/workspace', { token: live, body: { embed_origins } })
  const origins = ['https://app.example.com', 'http://localhost:3000']
  assert.deepEqual((await patch(origins)).body.embed_origins, origins)
  assert.deepEqual((await patch(origins.slice(1))).body.embed_origins, origins.slice(1))
  for (const bad of [
    'https://a.example/',
    'https://*.example',
    'ftp://a.example',
    'https://a.example/x',
    'null',
    '',
  ]) {
    assert.equal((await patch(['https://ok.example', bad])).body.errors[0].path, 'embed_origins.1', bad)
  }
  assert.equal((await patch(['https://a.example', 'https://a.example'])).body.errors[0].path, 'embed_origins')
  const many = Array.from({ length: 21 }, (_, i) => `https://a${i}.example`)
  assert.equal((await patch(many)).status, 400)
  assert.equal((await patch(many.slice(1))).status, 200)
})

test('a test credential can read the workspace but not change it', async () => {
  assert.equal((await ask('GET', '/v1/workspace', { token: vendor.test })).status, 200)
  const { body } = await ask('PATCH', '/v1/workspace', { token: vendor.test, body: { name: 'x' } })
  assert.equal(body.code, 'live_credential_required')
})
