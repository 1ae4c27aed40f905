import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { Deps } from '../deps.ts'
import type { FleetQuestion } from './nodes.ts'

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
  for (;;) {
    const { nodes, acknowledged, pending } = await policy.nodes.count(question)
    began ??= clock.monotonic()
    const waited = clock.monotonic() - began
    if (acknowledged === nodes || waited >= config.revokeWaitMs || gone.aborted) {
      return {
        acknowledged: acknowledged === nodes,
        version: question.version,
        nodes,
        nodes_acknowledged: acknowledged,
        pending,
        waited_ms: Math.round(waited),
      }
    }
    await sleep(Math.min(lookMs, config.revokeWaitMs - waited), undefined, { signal: gone }).catch(() => {})
  }
}
