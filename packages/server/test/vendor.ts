import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { reportPath, signedReport } from './codehost.ts'
import type { Harness } from './harness.ts'
import type { Answer, AskApi } from './mutations.ts'

/** Makes what tests and drills need, over the API as a vendor would. */

/** A workspace with a project and a tenant. */
export interface Scene {
  workspaceId: string
  /** The owner's live secret key. */
  live: string
  projectId: string
  tenantId: string
}

export interface Vendor extends Scene {
  /** The owner's test secret key. */
  test: string
  liveId: string
  testId: string
}

/** Where builders send their requests. */
interface Api {
  ask: AskApi
}

/** A secret key, or a session that may make the same. */
interface Maker {
  live: string
}

export const uniqueSlug = (name = 'acme') => `${name}-${randomBytes(6).toString('hex')}`

async function made(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

export const makeProject = ({ ask }: Api, { live }: Maker) =>
  made(ask('POST', '/v1/projects', { token: live, body: { name: 'Payments', slug: uniqueSlug('pay') } }))

export const makeTenant = ({ ask }: Api, { live }: Maker, more: Record<string, unknown> = {}) =>
  made(ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug('org'), ...more } }))

export const makeSecretKey = ({ ask }: Api, { live }: Maker, more: Record<string, unknown> = {}) =>
  made(ask('POST', '/v1/secret_keys', { token: live, body: { env: 'live', ...more } }))

export const makeInvite = ({ ask }: Api, { live }: Maker, more: Record<string, unknown> = {}) =>
  made(
    ask('POST', '/v1/invites', {
      token: live,
      body: { email: `${uniqueSlug('made')}@example.com`, role: 'admin', ...more },
    }),
  )

/** Issues a key and returns the response, with the key itself. */
export const issueKey = (
  { ask }: Api,
  { live, projectId, tenantId }: Omit<Scene, 'workspaceId'>,
  more: Record<string, unknown> = {},
) =>
  made(
    ask('POST', '/v1/keys', {
      token: live,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', ...more },
    }),
  )

export async function makeScene(
  ask: AskApi,
  bootstrapToken: string,
  more: Record<string, unknown> = { billing_email: 'billing@example.com' },
): Promise<Scene & { liveId: string }> {
  const workspace = await made(
    ask('POST', '/v1/workspaces', {
      token: bootstrapToken,
      body: { name: 'Acme', slug: uniqueSlug(), ...more },
    }),
  )
  const { id: liveId, key: live } = workspace.secret_key
  const project = await makeProject({ ask }, { live })
  const tenant = await makeTenant({ ask }, { live })
  return { workspaceId: workspace.id, live, liveId, projectId: project.id, tenantId: tenant.id }
}

/** Makes what most tests need: a scene, and a test key as well. */
export async function makeVendor({ ask, deps }: Pick<Harness, 'ask' | 'deps'>): Promise<Vendor> {
  const scene = await makeScene(ask, deps.config.bootstrapToken ?? '', {})
  const test = await makeSecretKey({ ask }, scene, { env: 'test' })
  return { ...scene, test: test.key, testId: test.id }
}

/** Claims a new record, and returns what its holder sends later. */
export async function claimScope({ ask }: Harness, { live }: Vendor) {
  const held = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
  const { body } = await ask('POST', '/v1/idempotency/claim', {
    token: live,
    body: { ...held, fingerprint: '0'.repeat(64) },
  })
  assert.equal(body.verdict, 'execute', JSON.stringify(body))
  return { ...held, lock_token: String(body.lock_token) }
}

/** Claims a record and completes it, so that both tables have a row. */
export async function answerOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const held = await claimScope(harness, vendor)
  const { body } = await harness.ask('POST', '/v1/idempotency/complete', {
    token: vendor.live,
    body: { ...held, status: 201, headers: { 'content-type': 'text/plain' }, body: 'b2s=' },
  })
  assert.equal(body.verdict, 'completed', JSON.stringify(body))
  await harness.deps.idempotency.storedBytes.flush()
  // As a process of an older release counts.
  await harness.query(
    `insert into idempotency_stored (workspace_id, ends_at, bytes)
     values ($1, date_trunc('hour', service_now()) + interval '2 days', 2)
     on conflict (workspace_id, ends_at) do nothing`,
    [vendor.workspaceId],
  )
}

/** Reports one request of a new key, one that was refused, and one judged in shadow, so that every usage table has a row. */
export async function useOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const { id } = await issueKey(harness, vendor)
  const [{ now }] = await harness.query('select service_now() as now')
  const { status, body } = await harness.ask('POST', '/v1/usage/reports', {
    token: vendor.live,
    body: { report_id: randomUUID(), sample_rate: 1, records: [{ key_id: id, hour: now, count: 1 }] },
  })
  assert.deepEqual([status, body.accepted], [202, 1], JSON.stringify(body))
  const refused = await harness.ask('POST', '/v1/usage/refusals', {
    token: vendor.live,
    body: {
      report_id: randomUUID(),
      project_id: vendor.projectId,
      records: ['unknown_key', 'shadow_agreed'].map(reason => ({ hour: now, reason, count: 1 })),
    },
  })
  assert.deepEqual([refused.status, refused.body.accepted], [202, 2], JSON.stringify(refused.body))
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

/** Revokes a secret key that has made another one, so that there is a row for its end. */
export async function endOnce({ ask }: Harness, { live }: Vendor): Promise<void> {
  const maker = await makeSecretKey({ ask }, { live })
  await makeSecretKey({ ask }, { live: maker.key })
  const { status, body } = await ask('POST', `/v1/secret_keys/${maker.id}/revoke`, {
    token: live,
    body: { cascade: true },
  })
  assert.equal(status, 200, JSON.stringify(body))
}

/** Reports a new key as leaked, so that there is a row for the leak; and one for a letter, as a killed process leaves it. */
export async function leakOnce(harness: Harness, vendor: Vendor): Promise<void> {
  const { key } = await issueKey(harness, vendor)
  const { status, body } = await harness.ask('POST', reportPath, signedReport([{ token: key }]))
  assert.deepEqual([status, body[0].label], [200, 'true_positive'])
  await harness.query('insert into leak_letters values ($1, gen_random_uuid(), service_now())', [
    vendor.workspaceId,
  ])
}
