import type { Env } from '@keyrail/contract/shared'
import type { BulkPropagation } from '@keyrail/contract/vendor/bulk'
import { awaitFleet } from '../policy/propagation.ts'
import type { KeyNeeds } from './needs.ts'

const pendingMax = 50

/**
 * Waits until the nodes of all places have the newest policy.
 * @param places projects and environments in which keys changed; null: too many to count.
 * @param began when the call began to wait, on the monotonic clock.
 */
export async function awaitPlaces(
  deps: KeyNeeds,
  workspaceId: string,
  places: readonly string[] | null,
  began: number,
  gone: AbortSignal,
): Promise<BulkPropagation> {
  const waitedMs = () => Math.round(deps.clock.monotonic() - began)
  const nothing = { nodes: 0, nodes_acknowledged: 0, pending: [] }
  if (places === null)
    return { acknowledged: false, ...nothing, waited_ms: waitedMs(), reason: 'too_many_projects' }
  const asked = places.map(place => {
    const [projectId = '', env] = place.split(' ')
    return { projectId, env: env as Env }
  })
  const versions = await deps.bulks.versionsOf(workspaceId, [...new Set(asked.map(one => one.projectId))])
  const left = { ...deps, config: { ...deps.config, revokeWaitMs: deps.config.revokeWaitMs - waitedMs() } }
  const all = await Promise.all(
    asked.map(({ projectId, env }) => {
      const version = versions.get(projectId) ?? { version: 1, raisedAt: null }
      return awaitFleet(left, { workspaceId, projectId, env, ...version }, gone)
    }),
  )
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    acknowledged: all.every(one => one.acknowledged),
    nodes: sum(one => one.nodes),
    nodes_acknowledged: sum(one => one.nodes_acknowledged),
    pending: [...new Set(all.flatMap(one => one.pending))].slice(0, pendingMax),
    waited_ms: waitedMs(),
    ...(all.some(one => one.reason !== undefined) && { reason: 'nodes_unknown' }),
  }
}
