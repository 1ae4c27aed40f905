import { hash } from 'node:crypto'
import type { Env } from '@keyrail/contract/shared'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import { type Features, givenOf, takesRefusals } from './features.ts'

/** The part of a project's policy that a caller can see, which its credential and its query determine. */
export interface FeedScope {
  workspaceId: string
  projectId: string
  /** As responses state it; null: both environments. */
  env: Env | null
  envs: readonly Env[]
  /** Sorted and unique; null: the whole project. An empty list matches no tenant. */
  tenantIds: readonly string[] | null
  /** The named features that the service knows and the node may see, sorted; null when the node names none. */
  features: readonly string[] | null
  /** Whether each answer says that the service takes reports of refusals. */
  takesRefusals: boolean
  /** Whether a feature adds the tenants. */
  hasTenants: boolean
  /** Identifies the visible part of the project: the environment, the tenants by a digest, and the features. */
  view: string
}

interface ScopeQuery {
  project_id: string
  env?: Env
  tenant_id?: string[]
  features?: string[]
}

/**
 * A test key sees test; a live key sees the requested environment, or both.
 * @throws {Refusal} `not_found`, when the key is bound to other projects.
 */
export function scopeOf(known: Features, principal: VendorPrincipal, query: ScopeQuery): FeedScope {
  assertSeesProject(principal, query.project_id)
  const env = principal.reach === 'test' ? 'test' : (query.env ?? null)
  const tenantIds =
    query.tenant_id === undefined
      ? null
      : [...new Set(query.tenant_id.map(id => id.toLowerCase()))].toSorted()
  const { workspaceId } = principal
  const projectId = query.project_id.toLowerCase()
  const features = givenOf(known, query.features, principal.permissions)
  const tenants = tenantIds === null ? '' : `-${hash('sha256', tenantIds.join(), 'base64url').slice(0, 22)}`
  // Naming only unknown features differs from naming none, because the body says so.
  const named = features === null ? '' : `-f.${features.join('.')}`
  return {
    workspaceId,
    projectId,
    env,
    envs: env === null ? ['live', 'test'] : [env],
    tenantIds,
    features,
    takesRefusals: takesRefusals(query.features, principal.permissions),
    hasTenants: (features ?? []).some(name => known[name]?.tenant !== undefined),
    view: `${env ?? 'both'}${tenants}${named}`,
  }
}

/** Identifies the scope among all, so that a body cached for one is never sent to another. */
export const scopeName = ({ workspaceId, projectId, view }: FeedScope): string =>
  `${workspaceId} ${projectId} ${view}`

/** The ETag of a version in this scope. Weak: the bytes differ by compression and by `generated_at`. RFC 9110 §8.8.3. */
export const etagOf = (scope: FeedScope, version: number, page = ''): string =>
  `W/"${version}-${scope.view}${page}"`
