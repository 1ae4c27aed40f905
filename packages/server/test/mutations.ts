import assert from 'node:assert/strict'
import { bulks } from './bulks.ts'
import { mintToken } from './embed.ts'
import { makeWidget, pauses } from './pauses.ts'
import { addMember, makePerson, type Query } from './people.ts'
import { suspensions } from './suspensions.ts'
import { until } from './until.ts'
import {
  issueKey,
  makeInvite,
  makeProject,
  makeSecretKey,
  makeTenant,
  type Scene,
  uniqueSlug,
} from './vendor.ts'

/**
 * One valid request for every route that changes something, so that tests can try a rule on all mutations. The
 * tests walk `src/routes.ts`: a new route without an entry here fails them.
 */
// biome-ignore lint/suspicious/noExplicitAny: an answer of any route, read by those who know which.
export type Answer = { status: number; body: any }
export type AskApi = (
  method: string,
  url: string,
  ask?: { token?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>

export interface MutationRequest {
  url: string
  token: string
  body?: unknown
  /** The workspace of its audit row, where that is not the one of the scene. */
  workspaceId?: string
}

interface Means {
  ask: AskApi
  query: Query
  bootstrapToken: string
  scene: Scene
}

/** Makes what the request needs, and returns the request. It succeeds when sent once. */
export type PrepareMutation = (means: Means) => Promise<MutationRequest>

const limits = [{ id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }]

/** By `operation`; each one writes an audit row. */
export const auditedMutations: Record<string, PrepareMutation> = {
  createWorkspace: async ({ bootstrapToken }) => ({
    url: '/v1/workspaces',
    token: bootstrapToken,
    body: { name: 'Refused', slug: uniqueSlug('refused'), billing_email: 'refused@example.com' },
  }),
  updateWorkspace: async ({ scene }) => ({
    url: '/v1/workspace',
    token: scene.live,
    body: { name: uniqueSlug('Renamed'), billing_email: `${uniqueSlug('new')}@example.com` },
  }),
  createSecretKey: async ({ scene }) => ({
    url: '/v1/secret_keys',
    token: scene.live,
    body: { env: 'live', name: 'refused' },
  }),
  updateSecretKey: async means => ({
    url: `/v1/secret_keys/${(await makeSecretKey(means, means.scene, { env: 'test' })).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', meta: { renamed: true } },
  }),
  rotateSecretKey: async means => ({
    url: `/v1/secret_keys/${(await makeSecretKey(means, means.scene, { env: 'test' })).id}/rotate`,
    token: means.scene.live,
  }),
  revokeSecretKey: async means => ({
    url: `/v1/secret_keys/${(await makeSecretKey(means, means.scene, { env: 'test' })).id}/revoke`,
    token: means.scene.live,
  }),
  deleteEndedSecretKeys: async means => {
    await makeSecretKey(means, means.scene, { expires_at: '2020-01-01T00:00:00Z' })
    return { url: '/v1/secret_keys/ended', token: means.scene.live }
  },
  createProject: async ({ scene }) => ({
    url: '/v1/projects',
    token: scene.live,
    body: { name: 'Refused', slug: uniqueSlug('refused'), default_rate_limits: limits, known_scopes: ['a'] },
  }),
  updateProject: async means => ({
    url: `/v1/projects/${(await makeProject(means, means.scene)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', slug: uniqueSlug('renamed'), default_rate_limits: limits, known_scopes: ['a'] },
  }),
  deleteProject: async means => {
    const { id } = await makeProject(means, means.scene)
    await issueKey(means, { ...means.scene, projectId: id })
    return { url: `/v1/projects/${id}`, token: means.scene.live }
  },
  createTenant: async ({ scene }) => ({
    url: '/v1/tenants',
    token: scene.live,
    body: { external_id: uniqueSlug('refused'), name: 'Refused' },
  }),
  updateTenant: async means => ({
    url: `/v1/tenants/${(await makeTenant(means, means.scene)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', meta: { renamed: true } },
  }),
  deleteEndedKeys: async means => {
    const { id } = await makeProject(means, means.scene)
    await issueKey(means, { ...means.scene, projectId: id }, { expires_at: '2020-01-01T00:00:00Z' })
    return { url: `/v1/keys/ended?project_id=${id}`, token: means.scene.live }
  },
  revokeEmbedTokens: async means => ({
    url: `/v1/tenants/${(await makeTenant(means, means.scene)).id}/embed_tokens/revoke`,
    token: means.scene.live,
  }),
  deleteTenant: async means => {
    const { id } = await makeTenant(means, means.scene)
    await issueKey(means, { ...means.scene, tenantId: id })
    return { url: `/v1/tenants/${id}`, token: means.scene.live }
  },
  /** Without `create_tenant`, which asks for a tenant, it writes nothing. */
  createEmbedToken: async ({ ask, scene }) => {
    // The first token of a service makes its signing key, which does not belong to the mutation.
    await mintToken({ ask }, scene)
    return {
      url: '/v1/embed_tokens',
      token: scene.live,
      body: {
        project_id: scene.projectId,
        external_id: uniqueSlug('refused'),
        env: 'live',
        create_tenant: { name: 'Refused' },
      },
    }
  },
  createKey: async ({ scene }) => ({
    url: '/v1/keys',
    token: scene.live,
    body: { project_id: scene.projectId, tenant_id: scene.tenantId, env: 'live', name: 'refused' },
  }),
  updateKey: async means => ({
    url: `/v1/keys/${(await issueKey(means, means.scene)).id}`,
    token: means.scene.live,
    body: { name: 'Renamed', scopes: ['renamed'] },
  }),
  rotateKey: async means => ({
    url: `/v1/keys/${(await issueKey(means, means.scene)).id}/rotate`,
    token: means.scene.live,
  }),
  revokeKey: async means => ({
    url: `/v1/keys/${(await issueKey(means, means.scene)).id}/revoke`,
    token: means.scene.live,
  }),
  ...pauses,
  ...suspensions,
  ...bulks,
  createEmbedKey: async means => ({
    url: '/v1/embed/keys',
    token: (await makeWidget(means)).token,
    body: { name: 'refused' },
  }),
  updateEmbedTenant: async means => ({
    url: '/v1/embed/tenant',
    token: (await makeWidget(means)).token,
    body: { allowed_cidrs: ['203.0.113.0/24'] },
  }),
  updateEmbedKey: async means => {
    const { token, id } = await makeWidget(means)
    return { url: `/v1/embed/keys/${id}`, token, body: { name: 'Renamed' } }
  },
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
    body: { email: `${uniqueSlug('refused')}@example.com`, role: 'member' },
  }),
  revokeInvite: async means => ({
    url: `/v1/invites/${(await makeInvite(means, means.scene)).id}/revoke`,
    token: means.scene.live,
  }),
  acceptInvite: async means => ({
    url: '/v1/auth/invites/accept',
    token: (await makePerson(means.query)).token,
    body: { token: (await makeInvite(means, means.scene)).token },
  }),
  adoptWorkspace: async ({ ask, query, bootstrapToken }) => {
    const body = { name: 'Orphan', slug: uniqueSlug('orphan') }
    const made = await ask('POST', '/v1/workspaces', { token: bootstrapToken, body })
    const { id, key } = made.body.secret_key
    // Its first use is noted in the background.
    await ask('GET', '/v1/workspace', { token: key })
    const used = 'select from secret_keys where id = $1 and last_used_at is not null'
    await until(async () => (await query(used, [id])).length > 0, 'the note of its use')
    return {
      url: '/v1/auth/workspaces/adopt',
      workspaceId: made.body.id,
      token: (await makePerson(query)).token,
      body: { secret_key: key },
    }
  },
  keepWorkspace: async means => ({
    url: `/v1/auth/workspaces/${means.scene.workspaceId}/keep`,
    token: await disowner(means),
  }),
  giveUpWorkspace: async means => ({
    url: `/v1/auth/workspaces/${means.scene.workspaceId}`,
    token: await disowner(means),
  }),
  leaveWorkspace: async ({ query, scene: { workspaceId } }) => ({
    url: `/v1/auth/workspaces/${workspaceId}/leave`,
    token: (await makePerson(query, { workspaceId, role: 'admin' })).token,
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

/** Routes with an unsafe method that write no audit row, by `operation`, with the reason. */
const unauditedMutations: Record<string, string> = {
  checkRateLimits: 'called once per request of a vendor’s customers: no audit row, no workspace lock',
  ...{ checkRateLimitsOfMany: 'as the check of rate limits', verifyKey: 'as the check of rate limits' },
  ...{ claimIdempotency: 'as the check of rate limits', claimIdempotencyOfMany: 'as one claim' },
  completeIdempotency: 'as the check of rate limits',
  releaseIdempotency: 'as the check of rate limits',
  extendIdempotencyLock: 'as the check of rate limits',
  reportUsage: 'sent by every server every few minutes: no audit row, no workspace lock',
  reportRefusals: 'as the report of usage',
  countKeys: 'reads; a filter is in the body, as in the calls that it precedes',
  identifyKey: 'reads; the key is in the body because it does not belong in a URL',
  explainKeyText: 'as identifyKey',
  identifyInvite: 'reads; the token is in the body because it does not belong in a URL',
  receiveLeaks: 'audits in the workspace of each token; p12 of drills/ makes the audit log refuse it',
  ...{ signUp: 'an account belongs to no workspace, and every chain does', signIn: 'as an account' },
  updateMe: 'as an account',
  changePassword: 'as an account',
  endCurrentSession: 'as an account',
  endOtherSessions: 'as an account',
  endSession: 'as an account',
  switchWorkspace: 'as an account',
  requestVerification: 'as an account',
  verifyAddress: 'as an account',
  requestReset: 'as an account',
  resetPassword: 'as an account',
}

/** A member whose account disowned what it made. @returns the token. */
async function disowner({ query, scene: { workspaceId } }: Means): Promise<string> {
  const { token, userId } = await makePerson(query)
  await addMember(query, workspaceId, userId, 'owner')
  await query('update users set disowned_count = 1 where id = $1', [userId])
  return token
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
