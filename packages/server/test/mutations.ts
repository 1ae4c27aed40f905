import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mintToken } from './embed.ts'
import { makePerson, type Query } from './people.ts'

/**
 * One well-formed request for every route that changes something, so that what holds for all mutations can be
 * tried on all of them. The routes are walked from `src/routes.ts`: a new one without an entry fails those who walk.
 */
// biome-ignore lint/suspicious/noExplicitAny: an answer of any route, read by those who know which.
export type Answer = { status: number; body: any }
export type AskApi = (
  method: string,
  url: string,
  ask?: { token?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>

export interface Scene {
  workspaceId: string
  live: string
  projectId: string
  tenantId: string
}

export interface MutationRequest {
  url: string
  token: string
  body?: unknown
}

interface Means {
  ask: AskApi
  query: Query
  bootstrapToken: string
  scene: Scene
}

/** Makes what the request needs, and gives back the request. It succeeds when sent once. */
export type PrepareMutation = (means: Means) => Promise<MutationRequest>

const unique = (name: string) => `${name}-${randomBytes(6).toString('hex')}`

async function made(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** What making something over the API takes. */
type Caller = Pick<Means, 'ask' | 'scene'>

export const makeKey = ({ ask, scene: { live, projectId, tenantId } }: Caller) =>
  made(
    ask('POST', '/v1/keys', {
      token: live,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', name: 'made' },
    }),
  )
const makeSecretKey = ({ ask, scene: { live } }: Caller) =>
  made(ask('POST', '/v1/secret_keys', { token: live, body: { env: 'test' } }))
const makeProject = ({ ask, scene: { live } }: Caller) =>
  made(ask('POST', '/v1/projects', { token: live, body: { name: 'made', slug: unique('made') } }))
const makeTenant = ({ ask, scene: { live } }: Caller) =>
  made(ask('POST', '/v1/tenants', { token: live, body: { external_id: unique('made') } }))

export const makeInvite = ({ ask, scene: { live } }: Caller) =>
  made(
    ask('POST', '/v1/invites', {
      token: live,
      body: { email: `${unique('made')}@example.com`, role: 'admin' },
    }),
  )

/** A workspace to mutate in. */
export async function makeScene(ask: AskApi, bootstrapToken: string): Promise<Scene> {
  const workspace = await made(
    ask('POST', '/v1/workspaces', {
      token: bootstrapToken,
      body: { name: 'Scene', slug: unique('scene'), billing_email: 'billing@example.com' },
    }),
  )
  const scene = { workspaceId: workspace.id, live: workspace.secret_key.key, projectId: '', tenantId: '' }
  const means = { ask, scene }
  return { ...scene, projectId: (await makeProject(means)).id, tenantId: (await makeTenant(means)).id }
}

const limits = [{ id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }]

/**
 * A tenant with a browser: each has a tenant of its own, for a tenant makes no more than sixty keys a minute there.
 * @returns its token, and one of its keys.
 */
async function makeWidget(means: Caller): Promise<{ token: string; id: string }> {
  const { ask } = means
  const scene = { ...means.scene, tenantId: (await makeTenant(means)).id }
  return { token: await mintToken({ ask }, scene), id: (await makeKey({ ask, scene })).id }
}

/** By `operation`; each of these leaves an audit row. */
export const auditedMutations: Record<string, PrepareMutation> = {
  createWorkspace: async ({ bootstrapToken }) => ({
    url: '/v1/workspaces',
    token: bootstrapToken,
    body: { name: 'Refused', slug: unique('refused'), billing_email: 'refused@example.com' },
  }),
  updateWorkspace: async ({ scene }) => ({
    url: '/v1/workspace',
    token: scene.live,
    body: { name: unique('Renamed'), billing_email: `${unique('new')}@example.com` },
  }),
  createSecretKey: async ({ scene }) => ({
    url: '/v1/secret_keys',
    token: scene.live,
    body: { env: 'live', name: 'refused' },
  }),
  rotateSecretKey: async means => ({
    url: `/v1/secret_keys/${(await makeSecretKey(means)).id}/rotate`,
    token: means.scene.live,
  }),
  revokeSecretKey: async means => ({
    url: `/v1/secret_keys/${(await makeSecretKey(means)).id}/revoke`,
    token: means.scene.live,
  }),
  createProject: async ({ scene }) => ({
    url: '/v1/projects',
    token: scene.live,
    body: { name: 'Refused', slug: unique('refused'), default_rate_limits: limits },
  }),
  updateProject: async means => ({
    url: `/v1/projects/${(await makeProject(means)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', slug: unique('renamed'), default_rate_limits: limits },
  }),
  deleteProject: async means => {
    const { id } = await makeProject(means)
    await makeKey({ ...means, scene: { ...means.scene, projectId: id } })
    return { url: `/v1/projects/${id}`, token: means.scene.live }
  },
  createTenant: async ({ scene }) => ({
    url: '/v1/tenants',
    token: scene.live,
    body: { external_id: unique('refused'), name: 'Refused' },
  }),
  updateTenant: async means => ({
    url: `/v1/tenants/${(await makeTenant(means)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', meta: { renamed: true } },
  }),
  revokeEmbedTokens: async means => ({
    url: `/v1/tenants/${(await makeTenant(means)).id}/embed_tokens/revoke`,
    token: means.scene.live,
  }),
  deleteTenant: async means => {
    const { id } = await makeTenant(means)
    await makeKey({ ...means, scene: { ...means.scene, tenantId: id } })
    return { url: `/v1/tenants/${id}`, token: means.scene.live }
  },
  createKey: async ({ scene }) => ({
    url: '/v1/keys',
    token: scene.live,
    body: { project_id: scene.projectId, tenant_id: scene.tenantId, env: 'live', name: 'refused' },
  }),
  updateKey: async means => ({
    url: `/v1/keys/${(await makeKey(means)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', scopes: ['renamed'] },
  }),
  rotateKey: async means => ({
    url: `/v1/keys/${(await makeKey(means)).id}/rotate`,
    token: means.scene.live,
  }),
  revokeKey: async means => ({
    url: `/v1/keys/${(await makeKey(means)).id}/revoke`,
    token: means.scene.live,
  }),
  createEmbedKey: async means => ({
    url: '/v1/embed/keys',
    token: (await makeWidget(means)).token,
    body: { name: 'refused' },
  }),
  rotateEmbedKey: async means => {
    const { token, id } = await makeWidget(means)
    return { url: `/v1/embed/keys/${id}/rotate`, token }
  },
  revokeEmbedKey: async means => {
    const { token, id } = await makeWidget(means)
    return { url: `/v1/embed/keys/${id}/revoke`, token }
  },
  createInvite: async ({ scene }) => ({
    url: '/v1/invites',
    token: scene.live,
    body: { email: `${unique('refused')}@example.com`, role: 'member' },
  }),
  revokeInvite: async means => ({
    url: `/v1/invites/${(await makeInvite(means)).id}/revoke`,
    token: means.scene.live,
  }),
  acceptInvite: async means => ({
    url: '/v1/auth/invites/accept',
    token: (await makePerson(means.query)).token,
    body: { token: (await makeInvite(means)).token },
  }),
  changeMemberRole: async ({ query, scene: { workspaceId, live } }) => ({
    url: `/v1/members/${(await makePerson(query, { workspaceId })).userId}`,
    token: live,
    body: { role: 'admin' },
  }),
  removeMember: async ({ query, scene: { workspaceId, live } }) => ({
    url: `/v1/members/${(await makePerson(query, { workspaceId })).userId}`,
    token: live,
  }),
}

/** Routes with an unsafe method that leave no audit row, by `operation`, each with the reason. */
export const unauditedMutations: Record<string, string> = {
  createEmbedToken:
    'minted with every page that shows keys, and kept nowhere: no audit row, no lock of the workspace',
  checkRateLimits: 'asked once per request of a vendor’s customers: no audit row, no lock of the workspace',
  claimIdempotency: 'as the check of rate limits',
  completeIdempotency: 'as the check of rate limits',
  releaseIdempotency: 'as the check of rate limits',
  extendIdempotencyLock: 'as the check of rate limits',
  reportUsage: 'told by every server every few minutes: no audit row, no lock of the workspace',
  receiveLeaks: 'audits in the workspace of each token; p12 of drills/ refuses it the audit log',
  signUp: 'an account is of no workspace, and a chain is of one',
  signIn: 'as an account',
  updateMe: 'as an account',
  changePassword: 'as an account',
  endCurrentSession: 'as an account',
  endSession: 'as an account',
  switchWorkspace: 'as an account',
  requestVerification: 'as an account',
  verifyAddress: 'as an account',
  requestReset: 'as an account',
  resetPassword: 'as an account',
}

interface Walked {
  operation: string
  method: string
  path: string
}

/**
 * The mutating routes among those given, with their requests.
 * @throws when one has no entry here, or an entry has no route.
 */
export function mutationsOf<Route extends Walked>(
  routes: readonly Route[],
): { route: Route; prepare: PrepareMutation }[] {
  const mutating = routes.filter(({ method }) => method !== 'GET')
  const known = new Set([...Object.keys(auditedMutations), ...Object.keys(unauditedMutations)])
  const unknown = mutating.filter(({ operation }) => !known.has(operation))
  assert.deepEqual(
    unknown.map(({ operation, method, path }) => `${operation}: ${method} ${path}`),
    [],
    'mutating routes without an entry in packages/server/test/mutations.ts',
  )
  const served = new Set(mutating.map(({ operation }) => operation))
  assert.deepEqual(
    [...known].filter(operation => !served.has(operation)),
    [],
    'entries without a route',
  )
  return mutating.flatMap(route => {
    const prepare = auditedMutations[route.operation]
    return prepare === undefined ? [] : [{ route, prepare }]
  })
}
