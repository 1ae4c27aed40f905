import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { Clock } from '../platform/clock.ts'
import { Refusal } from '../platform/refusal.ts'
import type { VersionOfChange } from './changes.ts'
import type { Fleet, FleetQuestion, Nodes } from './nodes.ts'
import type { Waits } from './waits.ts'

/** What waiting for a fleet needs. */
export interface FleetNeeds {
  readonly config: { readonly revokeWaitMs: number }
  readonly clock: Clock
  readonly policy: {
    readonly nodes: Pick<Nodes, 'count'>
    readonly waits: Pick<Waits, 'during' | 'isLeaving'>
  }
}

/** How often the nodes are counted while a caller waits; callers of one process share the statement. */
const lookMs = 50

/**
 * Waits until every live node has acknowledged the change by polling from its version or a later one, at most
 * `SERVICE_REVOKE_WAIT_MS`. Without a live node it returns at once, and when the nodes are unknown after a failover, since
 * waiting cannot make them known. A process that is about to end waits no longer for a database that does not answer. No
 * transaction is held.
 * @param gone the client has disconnected: returns the current state.
 * @throws {Refusal} `unavailable` when the database failed over during the wait and may have lost the change.
 */
export const awaitFleet = (
  needs: FleetNeeds,
  question: FleetQuestion & VersionOfChange,
  gone: AbortSignal,
): Promise<Propagation> => needs.policy.waits.during(gone, gone => countUntilWhole(needs, question, gone))

async function countUntilWhole(
  { policy, config, clock }: FleetNeeds,
  question: FleetQuestion & VersionOfChange,
  gone: AbortSignal,
): Promise<Propagation> {
  let began: number | null = null
  let last: Fleet | null = null
  for (;;) {
    // The change is committed, so a failure to count the nodes must not become an error.
    const counted = await policy.nodes.count(question).catch(() => null)
    last = counted ?? last
    if (last !== null && last.raisedAt !== question.raisedAt) throw new Refusal('unavailable', replaced)
    const { nodes, acknowledged, pending, isUnsure } = last ?? nothingKnown
    const isWhole = acknowledged === nodes && !isUnsure
    began ??= clock.monotonic()
    const waited = clock.monotonic() - began
    const isInVain = counted === null && policy.waits.isLeaving
    if (isWhole || isUnsure || isInVain || waited >= config.revokeWaitMs || gone.aborted) {
      return {
        acknowledged: isWhole,
        version: question.version,
        nodes,
        nodes_acknowledged: Math.max(acknowledged, 0),
        pending,
        waited_ms: Math.round(waited),
        ...(isUnsure && { reason: 'nodes_unknown' }),
      }
    }
    await sleep(Math.min(lookMs, config.revokeWaitMs - waited), undefined, { signal: gone }).catch(() => {})
  }
}

const nothingKnown: Fleet = { nodes: 0, acknowledged: -1, pending: [], raisedAt: null, isUnsure: false }
const replaced =
  'The database failed over during the wait for nodes and may have lost the change. Send the request again.'
