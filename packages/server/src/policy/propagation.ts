import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { Deps } from '../deps.ts'
import { Refusal } from '../platform/refusal.ts'
import type { VersionOfChange } from './changes.ts'
import type { Fleet, FleetQuestion } from './nodes.ts'

/** How often the nodes are counted while a caller waits; callers of one process share the statement. */
const lookMs = 50

/**
 * Waits until every live node has asked for a version at or after the change, which is how it acknowledges it,
 * or until `SERVICE_REVOKE_WAIT_MS`. Without a live node there is nobody to wait for. No transaction is held.
 * @param gone the caller has hung up, or the service closes: told as things stand.
 * @throws {Refusal} `unavailable` when the database was replaced meanwhile by one that may have lost the change.
 */
export async function awaitFleet(
  { policy, config, clock }: Deps,
  question: FleetQuestion & VersionOfChange,
  gone: AbortSignal,
): Promise<Propagation> {
  let began: number | null = null
  let last: Fleet | null = null
  for (;;) {
    // The change is committed; a store that is slow to tell of nodes makes the answer no error.
    last = await policy.nodes.count(question).catch(() => last)
    if (last !== null && last.raisedAt !== question.raisedAt) throw new Refusal('unavailable', replaced)
    const { nodes, acknowledged, pending, isNew } = last ?? nothingKnown
    const isWhole = acknowledged === nodes && !isNew
    began ??= clock.monotonic()
    const waited = clock.monotonic() - began
    if (isWhole || waited >= config.revokeWaitMs || gone.aborted) {
      return {
        acknowledged: isWhole,
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

const nothingKnown: Fleet = { nodes: 0, acknowledged: -1, pending: [], raisedAt: null, isNew: false }
const replaced =
  'The database failed over while nodes were waited for, and may have lost the change: ask again.'
