import { hash } from 'node:crypto'
import type { Env } from '@keyrail/contract/shared'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import { type Features, knownOf } from './features.ts'

/** The part of a project's policy that one caller is shown: its credential and its query decide together. */
export interface FeedScope {
  workspaceId: string
  projectId: string
  /** As answers state it; null: both environments. */
  env: Env | null
  envs: readonly Env[]
  /** Sorted, each once; null: the whole project. An empty match never widens to it. */
  tenantIds: readonly string[] | null
  /** Those that the node names and the service knows, sorted; null where it names none. */
  features: readonly string[] | null
  /** Whether a feature adds the tenants. */
  tellsTenants: boolean
  /** Names what is seen of the project: the environment, the tenants by a digest, and the features. */
  view: string
}

interface ScopeQuery {
  project_id: string
  env?: Env
  tenant_id?: string[]
  features?: string[]
}

/**
 * A test key sees test; a live one what it asks for, and both when it does not say.
 * @throws {Refusal} `not_found`, where the key is bound to other projects.
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
  const features = knownOf(known, query.features)
  const tenants = tenantIds === null ? '' : `-${hash('sha256', tenantIds.join(), 'base64url').slice(0, 22)}`
  // None known is told apart from none named: the body says so.
  const named = features === null ? '' : `-f.${features.join('.')}`
  return {
    workspaceId,
    projectId,
    env,
    envs: env === null ? ['live', 'test'] : [env],
    tenantIds,
    features,
    tellsTenants: (features ?? []).some(name => known[name]?.tenant !== undefined),
    view: `${env ?? 'both'}${tenants}${named}`,
  }
}

/** Names the scope among all, so that what was made for one is never given to another. */
export const scopeName = ({ workspaceId, projectId, view }: FeedScope): string =>
  `${workspaceId} ${projectId} ${view}`

/** A version as this scope shows it. Weak: the bytes differ by compression and by `generated_at`. RFC 9110 §8.8.3. */
export const etagOf = (scope: FeedScope, version: number, page = ''): string =>
  `W/"${version}-${scope.view}${page}"`
