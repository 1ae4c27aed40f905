import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { Deps } from '../deps.ts'
import type { Fleet, FleetQuestion } from './nodes.ts'

/** How often the nodes are counted while a caller waits; callers of one process share the statement. */
const lookMs = 50

/**
 * Waits until every live node has asked for a version at or after the change, which is how it acknowledges it,
 * or until `SERVICE_REVOKE_WAIT_MS`. Without a live node there is nobody to wait for. No transaction is held.
 * @param gone the caller has hung up, or the service closes: told as things stand.
 */
export async function awaitFleet(
  { policy, config, clock }: Deps,
  question: FleetQuestion,
  gone: AbortSignal,
): Promise<Propagation> {
  let began: number | null = null
  let last: Fleet | null = null
  for (;;) {
    // The change is committed; a store that is slow to tell of nodes makes the answer no error.
    last = await policy.nodes.count(question).catch(() => last)
    const { nodes, acknowledged, pending } = last ?? { nodes: 0, acknowledged: -1, pending: [] }
    began ??= clock.monotonic()
    const waited = clock.monotonic() - began
    if (acknowledged === nodes || waited >= config.revokeWaitMs || gone.aborted) {
      return {
        acknowledged: acknowledged === nodes,
        version: question.version,
        nodes,
        nodes_acknowledged: Math.max(acknowledged, 0),
        pending,
        waited_ms: Math.round(waited),
      }
    }
    await sleep(Math.min(lookMs, config.revokeWaitMs - waited), undefined, { signal: gone }).catch(() => {})
  }
}
