import type { AuditChain, DerivedChain } from '@keyrail/contract/vendor/audit'
import type { Turn } from '../platform/concurrency/fair-queue.ts'
import { within } from '../platform/concurrency/within.ts'
import type { Connection } from '../platform/db/connection.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import { Refusal } from '../platform/refusal.ts'
import type { ChainStep, Watch } from './verify-run.ts'
import { openVerifyThread } from './verify-thread.ts'

/** @param watch gets the progress of the run, also when the request shares a run that began before. */
export type VerifyChain = (workspaceId: string, watch?: Watch) => Promise<AuditChain>
export type DeriveChain = (workspaceId: string, watch?: Watch) => Promise<DerivedChain>

/** How many workspaces may wait for a run, and how long: a million rows take some seconds. */
const mostWaiting = 16
const waitMs = 15_000

/**
 * Derives every hash of a workspace's chain again, from one snapshot and in constant memory. Requests during a run of their
 * workspace share its result. Each run is an errand, and all runs share a thread. Workspaces take turns, so that a long chain
 * does not block later runs.
 */
export function createDeriveChain(connection: Connection, errands = new Errands(connection)): DeriveChain {
  const thread = openVerifyThread(connection)
  const runs = new Map<string, Run>()
  const derive = async (workspaceId: string, turn: Turn, watch: Watch): Promise<DerivedChain> => {
    // Waits until the caller has noted the run: a run that failed at once would otherwise stay noted.
    await null
    try {
      if (turn.come !== null) await within(waitMs, tooMany, [turn.come])
      return await thread.verify(workspaceId, watch)
    } finally {
      runs.delete(workspaceId)
      turn.end()
    }
  }
  const begin = (workspaceId: string): Run => {
    const turn = errands.waiting < mostWaiting ? errands.take(workspaceId) : null
    if (turn === null) throw tooMany()
    const watchers = new Set<Watch>()
    const run: Run = { watchers, step: null, chain: derive(workspaceId, turn, step => tell(run, step)) }
    runs.set(workspaceId, run)
    return run
  }
  return (workspaceId, watch) => {
    const run = runs.get(workspaceId) ?? begin(workspaceId)
    if (watch !== undefined) {
      run.watchers.add(watch)
      if (run.step !== null) watch(run.step)
    }
    return run.chain
  }
}

interface Run {
  readonly chain: Promise<DerivedChain>
  readonly watchers: Set<Watch>
  /** The progress of the run; null before it has begun. */
  step: ChainStep | null
}

function tell(run: Run, step: ChainStep): void {
  run.step = step
  for (const watch of run.watchers) watch(step)
}

const tooMany = () =>
  new Refusal('too_many_requests', 'Too many chains are being verified. Try again in a moment.', {
    headers: { 'retry-after': '1' },
  })
