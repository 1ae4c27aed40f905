import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { changeManyOnce } from './bulks.ts'
import { signedReport } from './codehost.ts'
import { mintToken } from './embed.ts'
import { bootstrapToken, type Harness } from './harness.ts'
import { mutationsOf } from './mutations.ts'
import { addMember, madePassword, makeMailedToken, makePerson, openSession } from './people.ts'
import { claimScope, issueKey, makeInvite, makeVendor, type Vendor } from './vendor.ts'

/** A request that succeeds when it is sent once. */
export interface Sample {
  url: string
  /** Undefined for a route without credentials. */
  token: string | undefined
  body?: Record<string, unknown>
  /** Replaces the body on a route that takes a signed one. */
  signed?: { body: string; headers: Record<string, string> }
}

const mutations = new Map(mutationsOf(routes).map(({ route, prepare }) => [route.operation, prepare]))

export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`

/** The nouns of `/v1/<noun>/:id`, each with a function that makes one in a workspace. */
const things: Record<string, (harness: Harness, vendor: Vendor) => Promise<string>> = {
  projects: async (_, vendor) => vendor.projectId,
  tenants: async (_, vendor) => vendor.tenantId,
  secret_keys: async (_, vendor) => vendor.liveId,
  keys: async (harness, vendor) => (await issueKey(harness, vendor)).id,
  embed: async (harness, vendor) => (await issueKey(harness, vendor)).id,
  invites: async (harness, vendor) => (await makeInvite(harness, vendor)).id,
  members: async ({ query }, { workspaceId }) => (await makePerson(query, { workspaceId })).userId,
}

/** Makes a row for the `:id` of a route in this workspace, in the live environment if it has one. */
export async function idFor(route: Route, harness: Harness, vendor: Vendor): Promise<string> {
  if (route.operation === 'getBulk') return await changeManyOnce(harness, vendor)
  const noun = route.path.split('/')[2] ?? ''
  const make = things[noun]
  assert.ok(make, `packages/server/test/samples.ts cannot make one of ${noun}`)
  return await make(harness, vendor)
}

/** Routes whose query has required parameters, or whose answer has the time if none is named. */
const queries: Record<string, (vendor: Vendor) => string> = {
  getPolicySnapshot: ({ projectId }) => `project_id=${projectId}`,
  getPolicyDelta: ({ projectId }) => `project_id=${projectId}&since=1`,
  explainKey: () => 'at=2999-01-01T00:00:00Z',
}

/** Bodies of requests that write no audit row, by `operation`, although another body of the same route may. */
const hotBodies: Record<string, (vendor: Vendor, harness: Harness) => Promise<Record<string, unknown>>> = {
  checkRateLimits: async ({ projectId, tenantId }) => ({
    project_id: projectId,
    tenant_id: tenantId,
    env: 'live',
    cost: 0,
    limits: [{ id: 'burst', limit: 10, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }],
  }),
  checkRateLimitsOfMany: async ({ projectId, tenantId }) => ({
    checks: [
      {
        project_id: projectId,
        tenant_id: tenantId,
        env: 'live',
        cost: 0,
        limits: [{ id: 'burst', limit: 10, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }],
      },
    ],
  }),
  countKeys: async ({ projectId }) => ({ action: 'revoke', filter: { project_id: projectId } }),
  identifyKey: async (vendor, harness) => ({ key: (await issueKey(harness, vendor)).key }),
  explainKeyText: async (vendor, harness) => ({ key: (await issueKey(harness, vendor)).key }),
  verifyKey: async (vendor, harness) => ({
    key: (await issueKey(harness, vendor)).key,
    project_id: vendor.projectId,
    cost: 0,
  }),
  createEmbedToken: async ({ projectId, tenantId }) => ({
    project_id: projectId,
    tenant_id: tenantId,
    env: 'live',
  }),
  claimIdempotency: async () => ({
    scope_hash: randomBytes(32).toString('hex'),
    fingerprint: '0'.repeat(64),
    env: 'live',
  }),
  claimIdempotencyOfMany: async (vendor, harness) => ({
    calls: [{ release: await claimScope(harness, vendor) }],
  }),
  completeIdempotency: async (vendor, harness) => ({ ...(await claimScope(harness, vendor)), status: 200 }),
  releaseIdempotency: (vendor, harness) => claimScope(harness, vendor),
  extendIdempotencyLock: (vendor, harness) => claimScope(harness, vendor),
  reportUsage: async (vendor, harness) => ({
    report_id: randomUUID(),
    sample_rate: 0.5,
    records: [
      {
        key_id: (await issueKey(harness, vendor)).id,
        hour: new Date().toISOString(),
        count: 1,
      },
    ],
  }),
  reportRefusals: async ({ projectId }) => ({
    report_id: randomUUID(),
    project_id: projectId,
    env: 'test',
    records: [{ hour: new Date().toISOString(), reason: 'unknown_key', count: 1 }],
  }),
}

/** The password that samples change to. */
export const newPassword = 'a new horse and battery'

/** Samples of the person plane, by `operation`, each with its own session. */
const personSamples: Record<string, (harness: Harness) => Promise<Omit<Sample, 'url'> & { id?: string }>> = {
  signUp: async () => ({
    token: undefined,
    body: { email: `${randomBytes(6).toString('hex')}@example.com`, password: madePassword },
  }),
  signIn: async ({ query }) => ({
    token: undefined,
    body: { email: (await makePerson(query)).email, password: madePassword },
  }),
  getMe: async ({ query }) => ({ token: (await makePerson(query)).token }),
  updateMe: async ({ query }) => ({ token: (await makePerson(query)).token, body: { name: 'Renamed' } }),
  changePassword: async ({ query }) => ({
    token: (await makePerson(query)).token,
    body: { current_password: madePassword, password: newPassword },
  }),
  listOwnSecurityEvents: async ({ query }) => ({ token: (await makePerson(query)).token }),
  listSessions: async ({ query }) => ({ token: (await makePerson(query)).token }),
  endCurrentSession: async ({ query }) => ({ token: (await makePerson(query)).token }),
  endOtherSessions: async ({ query }) => ({ token: (await makePerson(query)).token }),
  endSession: async ({ query }) => {
    const { token, userId } = await makePerson(query)
    return { token, id: (await openSession(query, userId)).sessionId }
  },
  switchWorkspace: async harness => {
    const { workspaceId } = await makeVendor(harness)
    return {
      token: (await makePerson(harness.query, { workspaceId })).token,
      body: { workspace_id: workspaceId },
    }
  },
  keepWorkspace: unprovenSample,
  giveUpWorkspace: unprovenSample,
  requestVerification: async ({ query }) => ({ token: (await makePerson(query, { verified: false })).token }),
  verifyAddress: async ({ query }) => {
    const { userId } = await makePerson(query, { verified: false })
    return { token: undefined, body: { token: await makeMailedToken(query, userId, 'verification') } }
  },
  identifyInvite: async harness => {
    const vendor = await makeVendor(harness)
    return { token: undefined, body: { token: (await makeInvite(harness, vendor)).token } }
  },
  requestReset: async ({ query }) => ({ token: undefined, body: { email: (await makePerson(query)).email } }),
  resetPassword: async ({ query }) => {
    const token = await makeMailedToken(query, (await makePerson(query)).userId, 'password_reset')
    return { token: undefined, body: { token, password: newPassword } }
  },
}

/** A person whose account disowned what it made, and one of its workspaces. */
async function unprovenSample(harness: Harness) {
  const { workspaceId } = await makeVendor(harness)
  const { token, userId } = await makePerson(harness.query)
  await addMember(harness.query, workspaceId, userId, 'owner')
  await harness.query('update users set disowned_count = 1 where id = $1', [userId])
  return { token, id: workspaceId }
}

/** A request from a tenant's browser: an embed token for its live keys, and one of these keys. */
async function embedSample({ method, path }: Route, harness: Harness, vendor: Vendor): Promise<Sample> {
  const token = await mintToken(harness, vendor)
  const { id } = await issueKey(harness, vendor)
  return {
    url: path.replace(':id', id),
    token,
    ...(method === 'POST' && path === '/v1/embed/keys' && { body: {} }),
    ...(method === 'PATCH' && {
      body: path === '/v1/embed/tenant' ? { allowed_cidrs: ['203.0.113.0/24'] } : { name: 'Renamed' },
    }),
  }
}

/** Adds parameters to a sample's URL and replaces those with the same name. */
export function withQuery(url: string, more: string): string {
  const [path, own = ''] = url.split('?')
  const given = more.split('&').map(pair => pair.split('=')[0])
  const kept = own.split('&').filter(pair => pair !== '' && !given.includes(pair.split('=')[0]))
  return `${path}?${[...kept, more].join('&')}`
}

/** Makes what a request of this route needs, and returns the request. */
export async function sampleOf(route: Route, harness: Harness, vendor: Vendor): Promise<Sample> {
  if (route.plane === 'embed') return await embedSample(route, harness, vendor)
  const hotBody = hotBodies[route.operation]
  const prepare = mutations.get(route.operation)
  if (prepare !== undefined && hotBody === undefined) {
    const { ask, query } = harness
    const { url, token, body } = await prepare({ ask, query, bootstrapToken, scene: vendor })
    return { url, token, ...(body !== undefined && { body: body as Record<string, unknown> }) }
  }
  const person = personSamples[route.operation]
  if (person !== undefined) {
    const { id = '', ...asked } = await person(harness)
    return { ...asked, url: route.path.replace(':id', id) }
  }
  if (route.signed !== null) {
    const { key } = await issueKey(harness, vendor)
    return {
      url: route.path,
      token: undefined,
      signed: signedReport([{ token: key, url: `https://x.example/?key=${key}` }]),
    }
  }
  const token = route.access.open ? undefined : vendor.live
  if (hotBody !== undefined) return { url: route.path, token, body: await hotBody(vendor, harness) }
  const query = queries[route.operation]?.(vendor)
  const more = query === undefined ? '' : `?${query}`
  const parameter = parameterOf(route.path)
  if (parameter === undefined) return { url: `${route.path}${more}`, token }
  return { url: `${route.path.replace(parameter, await idFor(route, harness, vendor))}${more}`, token }
}
