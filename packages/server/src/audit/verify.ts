import type { AuditChain, DerivedChain } from '@keyrail/contract/vendor/audit'
import type { Connection } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'
import { openVerifyThread } from './verify-thread.ts'

/** Runs of one process at a time; each keeps a connection busy, and they share a thread. */
const mostRuns = 2

export type VerifyChain = (workspaceId: string) => Promise<AuditChain>
export type DeriveChain = (workspaceId: string) => Promise<DerivedChain>

/**
 * Re-derives every hash of a workspace's chain in one snapshot, in constant memory. Those who ask while a run
 * of their workspace is under way share its result; a third workspace is told to come back.
 */
export function createDeriveChain(connection: Connection): DeriveChain {
  const thread = openVerifyThread(connection)
  const runs = new Map<string, Promise<DerivedChain>>()
  return workspaceId => {
    const running = runs.get(workspaceId)
    if (running !== undefined) return running
    if (runs.size >= mostRuns) {
      throw new Refusal('too_many_requests', 'Other chains are being verified; try again in a moment.', {
        headers: { 'retry-after': '1' },
      })
    }
    const run = thread.verify(workspaceId).finally(() => runs.delete(workspaceId))
    runs.set(workspaceId, run)
    return run
  }
}
