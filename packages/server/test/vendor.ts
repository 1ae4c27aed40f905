import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { reportPath, signedReport } from './codehost.ts'
import { bootstrapToken, type Harness } from './harness.ts'

/** A workspace with what most tests need in it, made over the API as a vendor would. */
export interface Vendor {
  workspaceId: string
  /** Owner's live secret key. */
  live: string
  /** Owner's test secret key. */
  test: string
  liveId: string
  testId: string
  projectId: string
  tenantId: string
}

export const uniqueSlug = (name = 'acme') => `${name}-${randomBytes(4).toString('hex')}`

export async function makeVendor({ ask }: Harness): Promise<Vendor> {
  const created = await ask('POST', '/v1/workspaces', {
    token: bootstrapToken,
    body: { name: 'Acme', slug: uniqueSlug() },
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const live = created.body.secret_key.key
  const test = await ask('POST', '/v1/secret_keys', { token: live, body: { env: 'test' } })
  const project = await ask('POST', '/v1/projects', {
    token: live,
    body: { name: 'Payments', slug: uniqueSlug('pay') },
  })
  const tenant = await ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug('org') } })
  return {
    workspaceId: created.body.id,
    live,
    test: test.body.key,
    liveId: created.body.secret_key.id,
    testId: test.body.id,
    projectId: project.body.id,
    tenantId: tenant.body.id,
  }
}

/** Issues a key and returns the answer, the key itself included. */
export async function issueKey({ ask }: Harness, vendor: Vendor, more: Record<string, unknown> = {}) {
  const { status, body } = await ask('POST', '/v1/keys', {
    token: vendor.live,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', ...more },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** Claims a new record, and returns what its holder says of itself. */
export async function claimScope({ ask }: Harness, { live }: Vendor) {
  const held = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
  const { body } = await ask('POST', '/v1/idempotency/claim', {
    token: live,
    body: { ...held, fingerprint: '0'.repeat(64) },
  })
  assert.equal(body.verdict, 'execute', JSON.stringify(body))
  return { ...held, lock_token: String(body.lock_token) }
}

/** Claims a record and stores an answer, so that there is a row of each. */
export async function answerOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const held = await claimScope(harness, vendor)
  const { body } = await harness.ask('POST', '/v1/idempotency/complete', {
    token: vendor.live,
    body: { ...held, status: 201, headers: { 'content-type': 'text/plain' }, body: 'b2s=' },
  })
  assert.equal(body.verdict, 'completed', JSON.stringify(body))
  await harness.deps.idempotency.storedBytes.tell()
}

/** Reports a request of a new key, so that there is a row of each kind of usage. */
export async function useOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const { id } = await issueKey(harness, vendor)
  const [{ now }] = await harness.query('select service_now() as now')
  const { status, body } = await harness.ask('POST', '/v1/usage/reports', {
    token: vendor.live,
    body: { report_id: randomUUID(), sample_rate: 1, records: [{ key_id: id, hour: now, count: 1 }] },
  })
  assert.deepEqual([status, body.accepted], [202, 1], JSON.stringify(body))
}

/** Charges a request to a limit of the vendor's tenant, so that there is a counter. */
export async function spendOnce({ ask }: Harness, { live, projectId, tenantId }: Vendor): Promise<void> {
  const limits = [{ id: 'burst', limit: 10, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }]
  const { status, body } = await ask('POST', '/v1/ratelimit/check', {
    token: live,
    body: { project_id: projectId, tenant_id: tenantId, env: 'live', limits },
  })
  assert.equal(status, 200, JSON.stringify(body))
}

/** Reports a new key as found in public, so that there is a row of it. */
export async function leakOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const { key } = await issueKey(harness, vendor)
  const { status, body } = await harness.ask('POST', reportPath, signedReport([{ token: key }]))
  assert.deepEqual([status, body[0].label], [200, 'true_positive'])
}
