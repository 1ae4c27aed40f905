import { FairQueue } from '../platform/concurrency/fair-queue.ts'

/** Waits until an answer of the feed may be sent. It never refuses, so that no fleet stays stale. */
export type SendTurns = (workspaceId: string, bytes: number) => Promise<void>

/** Smaller answers are sent at once. Writing this much to a socket takes well below 0.1 ms. */
const largeBytes = 64 * 1_024

/**
 * Sends one large answer in each pass of the event loop, the workspaces in turn. When a fleet re-seeds, fifty snapshots
 * may be ready at the same moment; written one after the other they would keep every other request waiting.
 */
export function createSendTurns(): SendTurns {
  const queue = new FairQueue({ places: 1, placesOfOne: 1, waitingOfOne: Number.POSITIVE_INFINITY })
  return async (workspaceId, bytes) => {
    if (bytes < largeBytes) return
    const turn = queue.take(workspaceId)
    await turn?.come
    // Whatever has arrived in the meantime is handled before the next one.
    if (turn) setImmediate(turn.end)
  }
}
