import type { PolicyDelta, PolicySnapshot } from '@keyrail/contract/feed'
import { digestFromBase64 } from '../runtime/digest.ts'
import { badResponse } from '../runtime/errors.ts'
import { readRateLimits } from '../store/rate-limits.ts'
import type { StoredKey } from '../store/records.ts'

/**
 * Reads the bodies of the feed. Everything that will be used is checked before anything is applied; members that
 * are not known are passed over, so that a newer service can say more.
 */

/** What was asked for, and so what an answer must be about. */
export interface Scope {
  projectId: string
  env: 'live' | 'test' | 'both'
  /** Sorted, no two alike; empty: the whole project. */
  tenantIds: readonly string[]
}

interface Head {
  workspaceId: string
  version: number
  deleted: boolean
  /** When the service put the body together, by its clock; it may have been given to others since. */
  generatedAt: number
}

export interface Snapshot extends Head {
  kind: 'snapshot'
  keys: StoredKey[]
  nextCursor: string | null
}

export type Change = { upsert: StoredKey } | { tombstone: { keyId: string; digest: string } }

export interface Delta extends Head {
  kind: 'delta'
  since: number
  /** Null: it tells of a change of a kind that this version does not know, so only a snapshot can tell the state. */
  changes: Change[] | null
}

type Json = Record<string, unknown>

/** @throws KeyringError `bad_response`, naming the first member that is wrong */
export function readFeedBody(body: unknown, scope: Scope): Snapshot | Delta {
  if (!isObject(body)) throw badResponse('not a JSON object')
  if (body.object !== 'policy_snapshot' && body.object !== 'policy_delta') throw badResponse('object')
  const { workspace_id, project_id, env, version, project_deleted, generated_at } = body as Partial<
    PolicySnapshot & PolicyDelta
  >
  if (!isText(workspace_id)) throw badResponse('workspace_id')
  if (project_id !== scope.projectId) throw badResponse('project_id')
  if (env !== (scope.env === 'both' ? null : scope.env)) throw badResponse('env')
  if (!isVersion(version)) throw badResponse('version')
  if (typeof project_deleted !== 'boolean') throw badResponse('project_deleted')
  const generatedAt = readTime(generated_at)
  if (Number.isNaN(generatedAt)) throw badResponse('generated_at')
  const head = { workspaceId: workspace_id, version, deleted: project_deleted, generatedAt }
  return body.object === 'policy_snapshot'
    ? { kind: 'snapshot', ...head, ...readKeys(body, scope) }
    : { kind: 'delta', ...head, ...readChanges(body, version, scope) }
}

function readKeys({ keys, next_cursor = null }: Json, scope: Scope): Pick<Snapshot, 'keys' | 'nextCursor'> {
  if (!Array.isArray(keys)) throw badResponse('keys')
  if (next_cursor !== null && (typeof next_cursor !== 'string' || next_cursor === '')) {
    throw badResponse('next_cursor')
  }
  return { keys: keys.map((key, at) => readKey(key, `keys.${at}`, scope)), nextCursor: next_cursor }
}

function readChanges(body: Json, version: number, scope: Scope): Pick<Delta, 'since' | 'changes'> {
  const { since, changes } = body
  if (typeof since !== 'number' || !Number.isSafeInteger(since) || since < 0) throw badResponse('since')
  if (version < since) throw badResponse('version, which went back')
  if (!Array.isArray(changes)) throw badResponse('changes')
  const read: Change[] = []
  for (const [at, change] of changes.entries()) {
    const path = `changes.${at}`
    if (!isObject(change) || typeof change.change !== 'string') throw badResponse(`${path}.change`)
    if (change.change === 'upsert') read.push({ upsert: readKey(change, path, scope) })
    else if (change.change === 'tombstone') read.push({ tombstone: readId(change, path) })
    else return { since, changes: null }
  }
  return { since, changes: read }
}

function readKey(key: unknown, path: string, scope: Scope): StoredKey {
  if (!isObject(key)) throw badResponse(path)
  const { keyId, digest } = readId(key, path)
  const { tenant_id, env, scopes, expires_at, rate_limits } = key
  if (!isText(tenant_id)) throw badResponse(`${path}.tenant_id`)
  if (scope.tenantIds.length > 0 && !scope.tenantIds.includes(tenant_id)) {
    throw badResponse(`${path}.tenant_id, which was not asked for`)
  }
  if ((env !== 'live' && env !== 'test') || (scope.env !== 'both' && env !== scope.env)) {
    throw badResponse(`${path}.env`)
  }
  if (!Array.isArray(scopes) || !scopes.every(each => typeof each === 'string')) {
    throw badResponse(`${path}.scopes`)
  }
  const expiresAt = expires_at === null ? Number.POSITIVE_INFINITY : readTime(expires_at)
  if (Number.isNaN(expiresAt)) throw badResponse(`${path}.expires_at`)
  const rateLimits = readRateLimits(rate_limits)
  if (rateLimits === null) throw badResponse(`${path}.rate_limits`)
  return { keyId, tenantId: tenant_id, env, digest, scopes, rateLimits, expiresAt }
}

function readId({ key_id, lookup_hash }: Json, path: string): { keyId: string; digest: string } {
  if (!isText(key_id)) throw badResponse(`${path}.key_id`)
  const digest = typeof lookup_hash === 'string' ? digestFromBase64(lookup_hash) : undefined
  if (digest === undefined) throw badResponse(`${path}.lookup_hash`)
  return { keyId: key_id, digest }
}

/** RFC 3339 in full: a date without a zone would be read in the zone of this machine. */
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

const readTime = (text: unknown): number =>
  typeof text === 'string' && timestamp.test(text) ? Date.parse(text) : Number.NaN

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
