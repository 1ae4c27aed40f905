import type { PolicyDelta, PolicySnapshot } from '@keyrail/contract/feed'
import { badResponse } from '../runtime/errors.ts'
import type { StoredKey } from '../store/records.ts'
import { type NamedTenant, readTenants } from './label.ts'
import { IMPORTED, type ListedTenant, readListed } from './listed.ts'
import { type KeyNames, readNames, readRecord, type Scope, type Unreadable } from './record.ts'
import { isObject, isText, isVersion, type Json, readTime } from './values.ts'

/**
 * Reads the bodies of the feed. Checks the head of a body before anything of it is applied. Ignores unknown fields, so that a
 * newer service can send more. An unreadable key costs only that key.
 */

interface Head {
  workspaceId: string
  version: number
  deleted: boolean
  /** When the service generated the body, by its clock. It may have sent the body to others since. */
  generatedAt: number
  /** Keys of the body that cannot be read. */
  unreadable: Unreadable[]
  /** The requested features that the service gives. */
  features: string[]
  /** Whether the service knows features, and gives no labels to a node that asks for them. */
  isUnlabelled: boolean
  /** Whether the service takes reports of refusals. */
  takesRefusals: boolean
  tenants: NamedTenant[]
  /** Undefined: the service says neither which tenants are suspended nor which have networks. */
  listed: readonly ListedTenant[] | undefined
  /** Whether the project takes keys from elsewhere. Undefined: the service does not say. */
  acceptsImported: boolean | undefined
  /** Whether what it says of that cannot be read. */
  isImportedOdd: boolean
}

export interface Snapshot extends Head {
  kind: 'snapshot'
  keys: StoredKey[]
  nextCursor: string | null
}

/** A key that was added, changed or removed. An unreadable one is removed without a cause. */
type Change = { upsert: StoredKey } | { gone: KeyNames; cause: string | undefined; isUnreadable?: true }

export interface Delta extends Head {
  kind: 'delta'
  since: number
  /** For how long the service held the answer before it last looked at the version; 0 if the answer does not say. */
  heldMs: number
  /** Null: the delta has a change of an unknown kind, so a snapshot is needed. */
  changes: Change[] | null
}

/** @throws KeyrailError `bad_response`, naming the first wrong field */
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
  const head = {
    workspaceId: workspace_id,
    version,
    deleted: project_deleted,
    generatedAt,
    takesRefusals: body.takes_refusals === true,
    ...readFeatures(body, scope),
  }
  return body.object === 'policy_snapshot'
    ? { kind: 'snapshot', ...head, ...readKeys(body, scope) }
    : { kind: 'delta', ...head, heldMs: readHeld(body), ...readChanges(body, version, scope) }
}

/** The features with names or with the `meta` of tenants, for which a secret key needs a permission. */
const labelled = ['labels', 'meta', 'names']

function readFeatures(
  body: Json,
  { features: asked = [] }: Scope,
): Pick<Head, 'features' | 'isUnlabelled' | 'tenants' | 'listed' | 'acceptsImported' | 'isImportedOdd'> {
  const { features, tenants } = body
  if (asked.length === 0)
    return { features: [], isUnlabelled: false, tenants: [], listed: undefined, ...readImported(body, []) }
  const isListed = Array.isArray(features)
  const given = isListed ? features.filter(name => asked.includes(name)) : []
  const isUnlabelled = isListed && asked.some(name => labelled.includes(name) && !given.includes(name))
  return {
    features: given,
    isUnlabelled,
    tenants: readTenants(tenants),
    listed: readListed(body, given),
    ...readImported(body, given),
  }
}

/** A member of another type counts as absent: keys of other forms are malformed then, as without the feature. */
function readImported(
  { accepts_imported: accepts }: Json,
  given: readonly string[],
): Pick<Head, 'acceptsImported' | 'isImportedOdd'> {
  const acceptsImported = accepts === true || (given.includes(IMPORTED) ? false : undefined)
  return { acceptsImported, isImportedOdd: accepts !== undefined && typeof accepts !== 'boolean' }
}

const readHeld = ({ held_ms }: Json): number =>
  typeof held_ms === 'number' && Number.isSafeInteger(held_ms) && held_ms > 0 ? held_ms : 0

function readKeys(
  { keys, next_cursor = null }: Json,
  scope: Scope,
): Pick<Snapshot, 'keys' | 'nextCursor' | 'unreadable'> {
  if (!Array.isArray(keys)) throw badResponse('keys')
  if (next_cursor !== null && (typeof next_cursor !== 'string' || !/^.{1,512}$/s.test(next_cursor)))
    throw badResponse('next_cursor')
  const read: StoredKey[] = []
  const unreadable: Unreadable[] = []
  for (const key of keys) {
    const record = readRecord(key, scope)
    if ('why' in record) unreadable.push(record)
    else read.push(record)
  }
  return { keys: read, unreadable, nextCursor: next_cursor }
}

function readChanges(
  body: Json,
  version: number,
  scope: Scope,
): Pick<Delta, 'since' | 'changes' | 'unreadable'> {
  const { since, changes } = body
  if (typeof since !== 'number' || !Number.isSafeInteger(since) || since < 0) throw badResponse('since')
  if (version < since) throw badResponse('version, which went back')
  if (!Array.isArray(changes)) throw badResponse('changes')
  const read: Change[] = []
  const unreadable: Unreadable[] = []
  for (const change of changes) {
    const { change: kind, cause }: Json = isObject(change) ? change : {}
    const names = readNames(change)
    // The change may concern any key held here: only a snapshot can resolve it.
    if (names.keyId === undefined && names.digest === undefined) return { since, changes: null, unreadable }
    if (kind === 'tombstone') {
      read.push({ gone: names, cause: typeof cause === 'string' ? cause : undefined })
    } else if (kind === 'upsert') {
      const record = readRecord(change, scope)
      if ('why' in record) {
        unreadable.push(record)
        read.push({ gone: names, cause: undefined, isUnreadable: true })
      } else {
        read.push({ upsert: record })
      }
    } else return { since, changes: null, unreadable }
  }
  return { since, changes: read, unreadable }
}
