import type { AuditChain, DerivedChain } from '@keyrail/contract/vendor/audit'
import type { Connection } from '../platform/db/connection.ts'
import { FairQueue, type Turn } from '../platform/fair-queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { openVerifyThread } from './verify-thread.ts'

/** Runs of one process at a time; each keeps a connection busy, and they share a thread. */
const mostRuns = 2

export type VerifyChain = (workspaceId: string) => Promise<AuditChain>
export type DeriveChain = (workspaceId: string) => Promise<DerivedChain>

/** Workspaces that may wait for a run, and how long: a million rows take some seconds. */
const mostWaiting = 16
const waitMs = 15_000

/**
 * Re-derives every hash of a workspace's chain in one snapshot, in constant memory. Those who ask while a run of their
 * workspace is under way, or waits for its turn, share its result. Workspaces take turns, so that some whose chains are long
 * keep no other one out.
 */
export function createDeriveChain(connection: Connection): DeriveChain {
  const thread = openVerifyThread(connection)
  const line = new FairQueue({ places: mostRuns, placesOfOne: 1, waitingOfOne: 1 })
  const runs = new Map<string, Promise<DerivedChain>>()
  const run = async (workspaceId: string, turn: Turn): Promise<DerivedChain> => {
    try {
      if (turn.come !== null) await comeWithin(turn.come, waitMs)
      return await thread.verify(workspaceId)
    } finally {
      runs.delete(workspaceId)
      turn.end()
    }
  }
  return workspaceId => {
    const shared = runs.get(workspaceId)
    if (shared !== undefined) return shared
    const turn = line.depth().waiting < mostWaiting ? line.take(workspaceId) : null
    if (turn === null) throw tooMany()
    const own = run(workspaceId, turn)
    runs.set(workspaceId, own)
    return own
  }
}

/** @throws {Refusal} `too_many_requests` when it does not come in time. */
async function comeWithin(come: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooMany()), ms)
  await Promise.race([come, late.promise]).finally(() => clearTimeout(timer))
}

const tooMany = () =>
  new Refusal('too_many_requests', 'Other chains are being verified; try again in a moment.', {
    headers: { 'retry-after': '1' },
  })
