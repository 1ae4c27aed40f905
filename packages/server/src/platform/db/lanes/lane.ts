import type { Budgets } from '../../budgets.ts'
import { answerCalls, type Batching, mostWaiting, openBatching } from '../../concurrency/batching.ts'
import type { Pending } from '../../concurrency/pending-calls.ts'
import { Refusal } from '../../refusal.ts'
import { isConnectionLost, isStatementForgotten, refusalOf } from '../errors.ts'
import { countRefusal, type RefusalObserver } from '../refusals.ts'
import type { LaneConnections } from './connections.ts'
import { createSend } from './send.ts'
import type { LaneSpec } from './spec.ts'

/**
 * A lane makes a hot statement fast without a cache that can be out of date: it sends batches of items, one batch at a time, as
 * arrays in and rows out. Measured at 64 callers: one statement for each call 11,000/s, a batch 60,000/s.
 */
export type Lane<In, Out> = Omit<Batching<In, Out>, 'close'>

/** A lane, with what only its owner may do. */
export type OwnedLane<In, Out> = Batching<In, Out>

export interface LaneObserver extends RefusalObserver {
  laneOpened(lane: string): void
  batchSent(lane: string, items: number): void
  /** A batch has its answers. @param isFailed the store did not answer the whole batch at the first attempt. */
  batchEnded(lane: string, seconds: number, isFailed: boolean): void
  /** A lane has opened a connection in place of a lost one. */
  laneReconnected(lane: string): void
}

export function openLane<In, Out>(
  connections: LaneConnections,
  spec: LaneSpec<In, Out>,
  { requestMs, pendingMost = mostWaiting }: Pick<Budgets, 'requestMs'> & { pendingMost?: number },
  observer: LaneObserver,
): OwnedLane<In, Out> {
  const send = createSend(connections, spec, () => observer.laneReconnected(spec.name))

  const sendAfter = async (error: unknown, calls: readonly Pending<In, Out>[]) => {
    const isLost = isConnectionLost(error)
    // A conversation that ends with a refusal has already written, and must not write again.
    const mayHaveWritten = (isLost && !isStatementForgotten(error)) || error instanceof Refusal
    if (mayHaveWritten && !spec.repeatable) throw refusalOf(error)
    if (isLost) return await sendAgain(calls)
    // One item may be at fault, so each item is sent by itself.
    for (const call of calls) await sendAgain([call])
  }
  /** Sends calls for the second and last time. */
  const sendAgain = async (calls: readonly Pending<In, Out>[]) => {
    const left = calls.filter(({ isAnswered }) => !isAnswered)
    if (left.length === 0) return
    try {
      await answerCalls(left, send)
    } catch (error) {
      countRefusal(observer, error)
      for (const call of left) call.reject(refusalOf(error))
    }
  }

  const batching = openBatching<In, Out>({
    // The lane's `nameOf`, `bytesOf` and `partyOf`.
    ...spec,
    requestMs,
    pendingMost,
    async carry(calls) {
      await observeBatch(observer, spec.name, calls.length, async fail => {
        try {
          await answerCalls(calls, send)
        } catch (error) {
          fail()
          countRefusal(observer, error)
          await sendAfter(error, calls)
        }
      })
    },
  })
  return {
    run: batching.run,
    depth: spec.depth ?? batching.depth,
    close: batching.close,
  }
}

/** Measures one batch of a lane. @param send calls `fail` when the store does not answer at the first attempt. */
export async function observeBatch(
  observer: Pick<LaneObserver, 'batchSent' | 'batchEnded'>,
  lane: string,
  items: number,
  send: (fail: () => void) => Promise<void>,
): Promise<void> {
  const began = performance.now()
  let isFailed = false
  observer.batchSent(lane, items)
  try {
    await send(() => {
      isFailed = true
    })
  } catch (error) {
    isFailed = true
    throw error
  } finally {
    observer.batchEnded(lane, (performance.now() - began) / 1_000, isFailed)
  }
}
