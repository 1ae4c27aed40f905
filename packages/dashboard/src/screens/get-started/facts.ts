import type { Env } from '@keyrail/contract/shared'
import type { FleetNode } from '@keyrail/contract/vendor/nodes'
import type { Overview } from '@keyrail/contract/vendor/overview'
import type { Project } from '@keyrail/contract/vendor/projects'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { getOverview } from '../../api/overview.ts'
import { listProjectNodes, listProjects } from '../../api/projects.ts'
import { listTenants } from '../../api/tenants.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'

/** How far a workspace is in an environment, as the service says it. */
export interface Facts {
  readonly project: Project | null
  readonly tenant: Tenant | null
  readonly hasKey: boolean
  /** A server that holds the keys; null until the first one asks for them. */
  readonly node: FleetNode | null
  readonly requests: number
}

export type Step = 'project' | 'tenant' | 'key' | 'connected' | 'verified'

/** How often the page asks while a step is open. */
const askEveryMs = 3_000

export const factsQuery = (env: Env) =>
  queryOptions({
    queryKey: ['first-steps', shownWorkspaceId(), env],
    queryFn: ({ client, signal }) => readFacts(client, env, signal),
    refetchInterval: ({ state }) => (state.data === undefined || isDone(state.data) ? false : askEveryMs),
    staleTime: 0,
  })

async function readFacts(client: QueryClient, env: Env, signal: AbortSignal): Promise<Facts> {
  const [projects, tenants, overview] = await Promise.all([
    listProjects({ query: { limit: 1 } }, { signal }),
    listTenants({ query: { limit: 1 } }, { signal }),
    getOverview({ query: { env } }, { signal }),
  ])
  const project = projects.data[0] ?? null
  const nodes =
    project === null
      ? []
      : (await listProjectNodes({ id: project.id, query: { limit: 50 } }, { signal })).data
  const node = nodes.find(one => one.env === env || one.env === 'both') ?? null
  // The foot says how many nodes there are. It must not deny the one that this page has found.
  client.setQueryData(['overview', shownWorkspaceId(), env], overview)
  return { project, tenant: tenants.data[0] ?? null, node, ...used(overview) }
}

const used = ({ active_keys, requests }: Pick<Overview, 'active_keys' | 'requests'>) => ({
  // A key that made requests existed, even if it is revoked since.
  hasKey: active_keys.count > 0 || requests.total > 0,
  requests: requests.total,
})

/** The steps that are done. */
export function doneSteps({ project, tenant, hasKey, node, requests }: Facts): ReadonlySet<Step> {
  const done: [Step, boolean][] = [
    ['project', project !== null],
    ['tenant', tenant !== null],
    ['key', hasKey],
    // A server that reports requests is connected, even if the service has forgotten it since.
    ['connected', node !== null || requests > 0],
    ['verified', requests > 0],
  ]
  return new Set(done.filter(([, isStepDone]) => isStepDone).map(([step]) => step))
}

export const isDone = (facts: Facts): boolean => doneSteps(facts).size === 5
