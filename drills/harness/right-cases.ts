import { reportPath, signedReport } from '../../packages/server/test/codehost.ts'
import { mintToken } from '../../packages/server/test/embed.ts'
import {
  type MadePerson,
  madePassword,
  makeMailedToken,
  makePerson,
  openSession,
  type Query,
} from '../../packages/server/test/people.ts'
import { issueKey, makeSecretKey, makeTenant, type Scene } from '../../packages/server/test/vendor.ts'
import { type Api, plainly, type TimedAnswer } from './api.ts'
import type { Flood } from './floods.ts'

export interface RightStage {
  readonly api: Api
  readonly query: Query
  /** A new workspace, with its owner's live key. */
  readonly owner: Scene
}

/** A right that its holder floods with, and its end by the owner. */
export interface RightCase {
  readonly floods: readonly Flood[]
  /** What the owner asks for beside the flood; answers 2xx. */
  end(): Promise<TimedAnswer>
  /** Uses the right; answers 401, 403 or 404 once it has ended. Null: nothing ends. */
  use: (() => Promise<TimedAnswer>) | null
}

type Prepare = (stage: RightStage) => Promise<RightCase>

const unknownSession = { method: 'DELETE', path: '/v1/auth/sessions/{id}' }
const embedKeys = { method: 'GET', path: '/v1/embed/keys' }
const unknownKey = { method: 'POST', path: '/v1/secret_keys/{id}/revoke' }

/** The sessions of one person, each with 16 requests at once that end nothing. */
async function sessionFlood(
  query: Query,
  { userId, token }: MadePerson,
  workspaceId?: string,
): Promise<Flood[]> {
  const tokens = [token]
  while (tokens.length < 60) tokens.push((await openSession(query, userId, workspaceId)).token)
  return tokens.map(each => ({ token: each, connections: 16, ...unknownSession }))
}

interface Thief {
  readonly id: string
  readonly key: string
  readonly floods: readonly Flood[]
}

/** A stolen key makes five more, and all six revoke what is not there. @param above a key of the owner's. */
async function keyFlood({ api }: RightStage, above: string): Promise<Thief> {
  const made = { ask: plainly(api) }
  const stolen = await makeSecretKey(made, { live: above })
  const keys: string[] = [stolen.key]
  while (keys.length < 6) keys.push((await makeSecretKey(made, { live: stolen.key })).key)
  const floods = keys.map(token => ({ token, connections: 250, ...unknownKey }))
  return { id: stolen.id, key: stolen.key, floods }
}

/** More than a workspace may have. */
const endedKeysMade = 10_100
const past = '2026-01-01T00:00:00.000Z'
const endedKeys = `
  insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, meta, display_prefix, created_at, expires_at)
  select $1, gen_random_uuid(), 'live', 'owner', 'secret_key', $2, '{}', 'krsk_live_abcd', now(), now() from generate_series(1, $3)`

/** One key on 3,000 connections. */
async function wideFlood({ api, owner }: RightStage, flood: Omit<Flood, 'token' | 'connections'>) {
  const stolen = await makeSecretKey({ ask: plainly(api) }, owner)
  return { ...stolen, floods: [{ token: String(stolen.key), connections: 3_000, ...flood }] }
}

const memberOf = ({ query, owner }: RightStage) =>
  makePerson(query, { workspaceId: owner.workspaceId, role: 'admin' })

const listKeys = (api: Api, token: string) => () => api.ask('GET', '/v1/keys', { token })

/** The ways in which a right ends, each beside a flood by its holder. */
export const endings = {
  async 'a secret key is revoked'(stage) {
    const { id, key, floods } = await keyFlood(stage, stage.owner.live)
    const end = () => stage.api.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: stage.owner.live })
    return { floods, end, use: listKeys(stage.api, key) }
  },
  async 'a secret key is rotated without overlap'(stage) {
    const { id, key, floods } = await keyFlood(stage, stage.owner.live)
    const rotation = { token: stage.owner.live, body: { overlap_hours: 0 } }
    const end = () => stage.api.ask('POST', `/v1/secret_keys/${id}/rotate`, rotation)
    return { floods, end, use: listKeys(stage.api, key) }
  },
  async 'a secret key is reported as leaked'(stage) {
    const { key, floods } = await keyFlood(stage, stage.owner.live)
    const report = [{ token: key, type: 'drill', url: 'https://code.example', source: 'commit' }]
    const end = () =>
      stage.api.ask('POST', reportPath, { body: report, headers: signedReport(report).headers })
    return { floods, end, use: listKeys(stage.api, key) }
  },
  async 'a member is removed'(stage) {
    const { query, owner, api } = stage
    const member = await memberOf(stage)
    const floods = await sessionFlood(query, member, owner.workspaceId)
    const end = () => api.ask('DELETE', `/v1/members/${member.userId}`, { token: owner.live })
    return { floods, end, use: listKeys(api, member.token) }
  },
  async 'a member is demoted'(stage) {
    const { query, owner, api } = stage
    const member = await memberOf(stage)
    const floods = await sessionFlood(query, member, owner.workspaceId)
    const end = () =>
      api.ask('PATCH', `/v1/members/${member.userId}`, { token: owner.live, body: { role: 'member' } })
    const use = () => api.ask('POST', '/v1/secret_keys', { token: member.token, body: { env: 'live' } })
    return { floods, end, use }
  },
  async 'a session is ended'({ query, api }) {
    const person = await makePerson(query)
    const stolen = await openSession(query, person.userId)
    const floods = await sessionFlood(query, { ...person, ...stolen })
    const end = () => api.ask('DELETE', `/v1/auth/sessions/${stolen.sessionId}`, { token: person.token })
    return { floods, end, use: () => api.ask('GET', '/v1/auth/me', { token: stolen.token }) }
  },
  async 'a password is changed'({ query, api }) {
    const person = await makePerson(query)
    const stolen = await openSession(query, person.userId)
    const floods = await sessionFlood(query, { ...person, ...stolen })
    const body = { current_password: madePassword, password: `${madePassword} anew` }
    const end = () => api.ask('POST', '/v1/auth/me/password', { token: person.token, body })
    return { floods, end, use: () => api.ask('GET', '/v1/auth/me', { token: stolen.token }) }
  },
  async 'a password is reset'({ query, api }) {
    const person = await makePerson(query)
    const floods = await sessionFlood(query, person)
    const token = await makeMailedToken(query, person.userId, 'password_reset')
    const body = { token, password: `${madePassword} anew` }
    const end = () => api.ask('POST', '/v1/auth/password_resets/consume', { body })
    return { floods, end, use: () => api.ask('GET', '/v1/auth/me', { token: person.token }) }
  },
  async 'the embed tokens of a tenant are revoked'({ api, owner }) {
    const token = await mintToken({ ask: plainly(api) }, owner)
    const floods = [{ token, connections: 3_000, ...embedKeys }]
    const end = () =>
      api.ask('POST', `/v1/tenants/${owner.tenantId}/embed_tokens/revoke`, { token: owner.live })
    return { floods, end, use: () => api.ask('GET', '/v1/embed/keys', { token }) }
  },
} as const satisfies Record<string, Prepare>

/** What else one party of a workspace does to the others. */
export const floods = {
  async 'one key on 3,000 connections, revoked by the owner'(stage) {
    const { id, key, floods } = await wideFlood(stage, { method: 'GET', path: '/v1/keys?limit=200' })
    const end = () => stage.api.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: stage.owner.live })
    return { floods, end, use: listKeys(stage.api, String(key)) }
  },
  async 'a member’s 60 sessions, while the owner revokes another key'(stage) {
    const { query, owner, api } = stage
    const member = await makePerson(query, { workspaceId: owner.workspaceId, role: 'member' })
    const floods = await sessionFlood(query, member, owner.workspaceId)
    const { id, key } = await makeSecretKey({ ask: plainly(api) }, owner)
    const end = () => api.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: owner.live })
    return { floods, end, use: listKeys(api, String(key)) }
  },
  async 'the keys below a key, while this key revokes the first of them'(stage) {
    const above = await makeSecretKey({ ask: plainly(stage.api) }, stage.owner)
    const { id, key, floods } = await keyFlood(stage, String(above.key))
    const end = () => stage.api.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: String(above.key) })
    return { floods, end, use: listKeys(stage.api, key) }
  },
  async 'the browsers of four customers, while the vendor makes a key'({ api, owner }) {
    const made = { ask: plainly(api) }
    const floods: Flood[] = []
    while (floods.length < 4) {
      const { id } = await makeTenant(made, owner)
      const token = await mintToken(made, { ...owner, tenantId: id })
      floods.push({ token, connections: 250, ...embedKeys })
    }
    const { projectId, tenantId } = owner
    const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
    return { floods, end: () => api.ask('POST', '/v1/keys', { token: owner.live, body }), use: null }
  },
  async 'a key that made ended keys up to their cap, while the owner makes one'({ api, query, owner }) {
    const thief = await makeSecretKey({ ask: plainly(api) }, owner)
    await query(endedKeys, [owner.workspaceId, thief.id, endedKeysMade])
    const flood = { method: 'POST', path: '/v1/secret_keys', body: { env: 'live', expires_at: past } }
    const floods = [{ token: String(thief.key), connections: 64, ...flood }]
    const end = () => api.ask('POST', '/v1/secret_keys', { token: owner.live, body: { env: 'live' } })
    return { floods, end, use: null }
  },
  async '1,500 rotations at once of a customer’s key, while the owner rotates it without overlap'(stage) {
    const { api, owner } = stage
    const { id } = await issueKey({ ask: plainly(api) }, owner)
    return rotationCase(stage, `/v1/keys/${id}/rotate`)
  },
  async '1,500 rotations at once of a key by itself, while the owner rotates it without overlap'(stage) {
    const thief = await makeSecretKey({ ask: plainly(stage.api) }, stage.owner)
    return rotationCase(stage, `/v1/secret_keys/${thief.id}/rotate`, String(thief.key))
  },
} as const satisfies Record<string, Prepare>

/** Rotations of one key that never stop, each with a day's overlap. */
async function rotationCase({ api, owner }: RightStage, path: string, thief?: string): Promise<RightCase> {
  const token = thief ?? String((await makeSecretKey({ ask: plainly(api) }, owner)).key)
  const floods = [{ token, connections: 1_500, method: 'POST', path, body: { overlap_hours: 24 } }]
  const end = () => api.ask('POST', path, { token: owner.live, body: { overlap_hours: 0 } })
  return { floods, end, use: thief === undefined ? null : listKeys(api, thief) }
}
