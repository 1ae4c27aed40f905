import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness({ embedMaxActiveKeys: 5 })
const { ask, query } = harness

/** A vendor and an embed token for its tenant. */
async function makeWidget(more: Record<string, unknown> = {}) {
  const vendor = await makeVendor(harness)
  return { vendor, token: await mintToken(harness, vendor, more) }
}

async function anotherTenant(live: string): Promise<string> {
  const { body } = await ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug('org') } })
  return body.id
}

test('the session returns the tenant, the place, the scopes and the expiry', async () => {
  const { vendor, token } = await makeWidget({ scopes: ['keys:read', 'key_scope:charges:read'] })
  const { status, body } = await ask('GET', '/v1/embed/session', { token })
  assert.equal(status, 200)
  const [tenant] = await query('select external_id from tenants where id = $1', [vendor.tenantId])
  assert.deepEqual(body.tenant, {
    id: vendor.tenantId,
    external_id: tenant.external_id,
    name: null,
    allowed_cidrs: [],
  })
  assert.deepEqual(body.project, { id: vendor.projectId, name: 'Payments' })
  assert.deepEqual(body.can, {
    read: true,
    write: false,
    update: false,
    pause: false,
    network: false,
    tenant_network: false,
    key_scopes: ['charges:read'],
  })
  assert.equal(body.env, 'live')
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  assert.equal(body.expires_at, new Date(claims.exp * 1_000).toISOString())
  assert.equal(claims.exp - claims.iat, 300)
})

test('a created key works, hides the vendor’s fields, and is listed for the vendor', async () => {
  const { vendor, token } = await makeWidget()
  const made = await ask('POST', '/v1/embed/keys', { token, body: { name: 'Laptop', scopes: ['refunds'] } })
  assert.equal(made.status, 201)
  assert.match(made.body.key, /^kr_live_[0-9A-Za-z]{38}$/)
  for (const field of ['meta', 'tenant_id', 'project_id', 'env']) assert.ok(!(field in made.body), field)
  const seen = await ask('GET', `/v1/keys/${made.body.id}`, { token: vendor.live })
  assert.deepEqual(
    [
      seen.body.tenant_id,
      seen.body.project_id,
      seen.body.env,
      seen.body.name,
      seen.body.scopes,
      seen.body.meta,
    ],
    [vendor.tenantId, vendor.projectId, 'live', 'Laptop', ['refunds'], {}],
  )
  const feed = await ask('GET', `/v1/policy/snapshot?project_id=${vendor.projectId}`, { token: vendor.live })
  assert.deepEqual(
    feed.body.keys.map((key: { key_id: string }) => key.key_id),
    [made.body.id],
  )
})

test('keys changed with a token are audited with the token’s id; minting is not audited', async () => {
  const { vendor, token } = await makeWidget()
  const { body: made } = await ask('POST', '/v1/embed/keys', { token })
  const { body: next } = await ask('POST', `/v1/embed/keys/${made.id}/rotate`, { token })
  for (let i = 0; i < 2; i++)
    await ask('POST', `/v1/embed/keys/${next.id}/revoke`, { token, body: { reason: 'lost' } })
  const { body } = await ask('GET', '/v1/audit_logs?limit=200', { token: vendor.live })
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const rows = body.data.filter((row: { actor_type: string }) => row.actor_type === 'embed_token')
  assert.deepEqual(
    rows.map((row: Record<string, unknown>) => [row.action, row.actor_id, row.target_id, row.env]),
    [
      ['api_key.created', jti, made.id, 'live'],
      ['api_key.rotated', jti, made.id, 'live'],
      ['api_key.revoked', jti, next.id, 'live'],
    ],
  )
  assert.ok(!body.data.some((row: { action: string }) => row.action.includes('embed')))
  assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: vendor.live })).body.valid, true)
})

test('a revocation with an embed token reaches the nodes', async () => {
  const { vendor, token } = await makeWidget()
  const { body: made } = await ask('POST', '/v1/embed/keys', { token })
  const path = `project_id=${vendor.projectId}`
  const { body: before } = await ask('GET', `/v1/policy/snapshot?${path}`, { token: vendor.live })
  const revoked = await ask('POST', `/v1/embed/keys/${made.id}/revoke`, { token })
  assert.ok(revoked.body.revoked_at)
  const { body: delta } = await ask('GET', `/v1/policy/delta?${path}&since=${before.version}`, {
    token: vendor.live,
  })
  assert.deepEqual(
    delta.changes.map((change: Record<string, unknown>) => [change.change, change.key_id]),
    [['tombstone', made.id]],
  )
})

test('the list has only the keys of this tenant, project and environment', async () => {
  const { vendor, token } = await makeWidget()
  const mine = await issueKey(harness, vendor, { name: 'by the vendor', meta: { internal: 'note' } })
  const { body: made } = await ask('POST', '/v1/embed/keys', { token })
  const { body: project } = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'Other', slug: uniqueSlug() },
  })
  await issueKey(harness, vendor, { env: 'test' })
  await issueKey(harness, vendor, { project_id: project.id })
  await issueKey(harness, vendor, { tenant_id: await anotherTenant(vendor.live) })
  await issueKey(harness, await makeVendor(harness))
  const { body } = await ask('GET', '/v1/embed/keys', { token })
  assert.deepEqual(
    body.data.map((key: { id: string }) => key.id),
    [made.id, mine.id],
  )
  assert.ok(!JSON.stringify(body).includes('internal'))
})

test('the list has pages without revoked keys and refuses cursors of other tenants', async () => {
  const { vendor, token } = await makeWidget()
  const keys = []
  for (let i = 0; i < 3; i++) keys.push(await issueKey(harness, vendor))
  await ask('POST', `/v1/embed/keys/${keys[2].id}/revoke`, { token })
  const list = (text: string, by = token) => ask('GET', `/v1/embed/keys?${text}`, { token: by })
  const ids = async (text: string) => (await list(text)).body.data.map((key: { id: string }) => key.id)
  assert.deepEqual(await ids(''), [keys[1].id, keys[0].id])
  assert.deepEqual(await ids('include_revoked=true'), [keys[2].id, keys[1].id, keys[0].id])
  const first = await list('limit=1')
  assert.equal(first.body.has_more, true)
  assert.deepEqual(await ids(`limit=1&cursor=${first.body.next_cursor}`), [keys[0].id])
  const sibling = await mintToken(harness, { ...vendor, tenantId: await anotherTenant(vendor.live) })
  const foreign = await list(`cursor=${first.body.next_cursor}`, sibling)
  assert.deepEqual([foreign.status, foreign.body.errors[0].path], [400, 'cursor'])
  for (const limit of ['0', '101', 'x'])
    assert.equal((await list(`limit=${limit}`)).body.errors[0].path, 'limit')
})

test('a key of another tenant, project or environment is missing and stays unchanged', async () => {
  const { vendor, token } = await makeWidget()
  const { body: project } = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'Other', slug: uniqueSlug() },
  })
  const others = [
    await issueKey(harness, vendor, { tenant_id: await anotherTenant(vendor.live) }),
    await issueKey(harness, vendor, { project_id: project.id }),
    await issueKey(harness, vendor, { env: 'test' }),
    await issueKey(harness, await makeVendor(harness)),
  ]
  for (const action of ['rotate', 'revoke']) {
    const responseOf = async (id: string) => {
      const { status, body, headers } = await ask('POST', `/v1/embed/keys/${id}/${action}`, { token })
      const { 'x-request-id': _, date: __, ...rest } = headers
      return { status, body: { ...body, request_id: '' }, headers: rest }
    }
    const missing = await responseOf(randomUUID())
    assert.equal(missing.status, 404)
    for (const { id } of others) assert.deepEqual(await responseOf(id), missing)
  }
  const ids = others.map(({ id }) => id)
  const touched = await query(
    'select id from api_keys where id = any($1) and (revoked_at is not null or rotated_to is not null)',
    [ids],
  )
  assert.deepEqual(touched, [])
})

test('only the token selects the tenant, not the query, a header or the body', async () => {
  const { vendor, token } = await makeWidget()
  const other = await makeVendor(harness)
  const mine = await issueKey(harness, vendor)
  const theirs = `tenant_id=${other.tenantId}&project_id=${other.projectId}&env=test`
  const headers = {
    'x-tenant-id': other.tenantId,
    tenant_id: other.tenantId,
    project_id: other.projectId,
    env: 'test',
  }
  const listed = await ask('GET', `/v1/embed/keys?${theirs}`, { token, headers })
  assert.deepEqual(
    listed.body.data.map((key: { id: string }) => key.id),
    [mine.id],
  )
  const made = await ask('POST', `/v1/embed/keys?${theirs}`, { token, headers })
  const seen = await ask('GET', `/v1/keys/${made.body.id}`, { token: vendor.live })
  assert.deepEqual(
    [seen.body.tenant_id, seen.body.project_id, seen.body.env],
    [vendor.tenantId, vendor.projectId, 'live'],
  )
  for (const path of [
    '/v1/embed/keys',
    `/v1/embed/keys/${mine.id}/rotate`,
    `/v1/embed/keys/${mine.id}/revoke`,
  ]) {
    for (const [name, value] of [
      ['tenant_id', vendor.tenantId],
      ['project_id', vendor.projectId],
      ['env', 'live'],
    ]) {
      const { status, body } = await ask('POST', path, { token, body: { [name as string]: value } })
      assert.deepEqual([status, body.errors?.[0].path], [400, name])
    }
  }
})

test('reading needs keys:read, writing needs keys:write, the session needs neither', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  const calls: [method: string, path: string, needs: string | null][] = [
    ['GET', '/v1/embed/session', null],
    ['GET', '/v1/embed/keys', 'keys:read'],
    ['POST', '/v1/embed/keys', 'keys:write'],
    ['PATCH', `/v1/embed/keys/${key.id}`, 'keys:write'],
    ['POST', `/v1/embed/keys/${key.id}/rotate`, 'keys:write'],
    ['POST', `/v1/embed/keys/${key.id}/revoke`, 'keys:write'],
  ]
  for (const scopes of [[], ['key_scope:keys:write'], ['keys:read'], ['keys:write']] as string[][]) {
    const token = await mintToken(harness, vendor, { scopes })
    for (const [method, path, needs] of calls) {
      const { status, body } = await ask(method, path, {
        token,
        ...(method === 'PATCH' && { body: { name: 'Renamed' } }),
      })
      if (needs === null || scopes.includes(needs))
        assert.ok(status < 300, `${path} ${scopes}: ${body.detail}`)
      else assert.deepEqual([path, status, body.code], [path, 403, 'insufficient_scope'])
    }
  }
})

test('creating and rotating need the key’s scopes in the token; revoking does not', async () => {
  const { vendor, token } = await makeWidget()
  for (const scopes of [
    ['admin'],
    ['refunds', 'admin'],
    ['charges'],
    ['Refunds'],
    ['keys:write'],
    ['key_scope:refunds'],
  ]) {
    const { status, body } = await ask('POST', '/v1/embed/keys', { token, body: { scopes } })
    assert.deepEqual([status, body.code], [403, 'insufficient_scope'], `${scopes}`)
  }
  const wide = await issueKey(harness, vendor, { scopes: ['refunds', 'admin'] })
  const refused = await ask('POST', `/v1/embed/keys/${wide.id}/rotate`, { token })
  assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_scope'])
  assert.match(refused.body.detail, /key_scope:admin/)
  assert.equal((await ask('POST', `/v1/embed/keys/${wide.id}/revoke`, { token })).status, 200)
  const narrow = await issueKey(harness, vendor, { scopes: ['refunds'], meta: { plan: 'gold' } })
  const rotated = await ask('POST', `/v1/embed/keys/${narrow.id}/rotate`, {
    token,
    body: { overlap_hours: 1 },
  })
  assert.deepEqual(
    [rotated.status, rotated.body.scopes, rotated.body.rotated_from],
    [200, ['refunds'], narrow.id],
  )
  assert.equal(rotated.body.predecessor.id, narrow.id)
  const seen = await ask('GET', `/v1/keys/${rotated.body.id}`, { token: vendor.live })
  assert.deepEqual(seen.body.meta, { plan: 'gold' })
})

test('a revoked key is not rotated, and revoking it again changes nothing', async () => {
  const { vendor, token } = await makeWidget()
  const { id } = await issueKey(harness, vendor)
  const first = await ask('POST', `/v1/embed/keys/${id}/revoke`, { token, body: { reason: 'lost' } })
  const again = await ask('POST', `/v1/embed/keys/${id}/revoke`, { token, body: { reason: 'other' } })
  assert.deepEqual(again.body, first.body)
  const rotated = await ask('POST', `/v1/embed/keys/${id}/rotate`, { token })
  assert.deepEqual([rotated.status, rotated.body.code], [409, 'key_not_active'])
})

test('an Idempotency-Key is ignored on embed routes', async () => {
  const { token } = await makeWidget()
  const headers = { 'idempotency-key': 'once' }
  const made = [
    await ask('POST', '/v1/embed/keys', { token, headers }),
    await ask('POST', '/v1/embed/keys', { token, headers }),
  ]
  assert.equal(new Set(made.map(({ body }) => body.id)).size, 2)
  assert.ok(made.every(({ body }) => typeof body.key === 'string'))
})
