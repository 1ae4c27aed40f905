import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { Clock } from '../platform/clock.ts'
import { Refusal } from '../platform/refusal.ts'
import type { VersionOfChange } from './changes.ts'
import { type Fleet, type FleetQuestion, mostPending, type Nodes } from './nodes.ts'
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

type Question = FleetQuestion & VersionOfChange

/**
 * Waits until every live node has acknowledged the change by polling from its version or a later one, at most
 * `SERVICE_REVOKE_WAIT_MS`. Without a live node it returns at once, and when the nodes are unknown after a failover, since
 * waiting cannot make them known. A process that is about to end waits no longer for a database that does not answer. No
 * transaction is held.
 * @param gone the client has disconnected: returns the current state.
 * @throws {Refusal} `unavailable` when the database failed over during the wait and may have lost the change.
 */
export const awaitFleet = (needs: FleetNeeds, question: Question, gone: AbortSignal): Promise<Propagation> =>
  awaitFleets(needs, [question], gone)

/** As `awaitFleet`, for a change that has a version in each of several projects: their nodes are added up. */
export const awaitFleets = (
  needs: FleetNeeds,
  questions: readonly Question[],
  gone: AbortSignal,
): Promise<Propagation> => needs.policy.waits.during(gone, gone => countUntilWhole(needs, questions, gone))

async function countUntilWhole(
  { policy, config, clock }: FleetNeeds,
  questions: readonly Question[],
  gone: AbortSignal,
): Promise<Propagation> {
  const version = Math.max(0, ...questions.map(one => one.version))
  let began: number | null = null
  let last: readonly Fleet[] | null = null
  for (;;) {
    // The change is committed, so a failure to count the nodes must not become an error.
    const counted = await Promise.all(questions.map(one => policy.nodes.count(one))).catch(() => null)
    last = counted ?? last
    if (last?.some((fleet, i) => fleet.raisedAt !== questions[i]?.raisedAt))
      throw new Refusal('unavailable', replaced)
    const { nodes, acknowledged, pending, isUnsure } = last === null ? nothingKnown : sumOf(last)
    const isWhole = acknowledged === nodes && !isUnsure
    began ??= clock.monotonic()
    const waited = clock.monotonic() - began
    const isInVain = counted === null && policy.waits.isLeaving
    if (isWhole || isUnsure || isInVain || waited >= config.revokeWaitMs || gone.aborted) {
      return {
        acknowledged: isWhole,
        version,
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

type Count = Omit<Fleet, 'raisedAt'>

const sumOf = (fleets: readonly Fleet[]): Count => ({
  nodes: fleets.reduce((sum, { nodes }) => sum + nodes, 0),
  acknowledged: fleets.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
  pending: fleets.flatMap(({ pending }) => pending).slice(0, mostPending),
  isUnsure: fleets.some(({ isUnsure }) => isUnsure),
})

const nothingKnown: Count = { nodes: 0, acknowledged: -1, pending: [], isUnsure: false }
const replaced =
  'The database failed over during the wait for nodes and may have lost the change. Send the request again.'
