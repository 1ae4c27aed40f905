import type { Problem } from '@keyrail/contract/errors'
import { Refusal, tooManyInFlight } from '../platform/refusal.ts'

/** Routes that take a list of calls, each of which is answered as if it had come alone. */

/**
 * The calls of lists that one workspace may have pending in one process: a tenth of the queue that all workspaces share. A
 * request brings a hundred, so few connections of one workspace could fill that queue.
 */
export const listedMax = 2_000

/** Counts the pending calls of lists by workspace. */
export class ListedCalls {
  readonly #pending = new Map<string, number>()

  /**
   * @returns ends the count of these calls; call it once they are answered
   * @throws {Refusal} `too_many_in_flight`
   */
  enter(workspaceId: string, calls: number): () => void {
    const before = this.#pending.get(workspaceId) ?? 0
    if (before + calls > listedMax) throw tooManyInFlight()
    this.#pending.set(workspaceId, before + calls)
    return () => {
      const left = (this.#pending.get(workspaceId) ?? calls) - calls
      if (left === 0) this.#pending.delete(workspaceId)
      else this.#pending.set(workspaceId, left)
    }
  }
}

/**
 * Answers each call of a list; one that is refused has its problem in its place.
 * @param answerOne starts its work at once, so that the store is asked in the order of the list.
 * @throws {Refusal} `unavailable` when the store has answered no call of those that it was asked.
 */
export async function answerEach<Call, Answer>(
  calls: readonly Call[],
  answerOne: (call: Call, at: number) => Promise<Answer>,
  problemOf: (refusal: Refusal) => Problem,
): Promise<(Answer | { error: Problem })[]> {
  const outcomes = await Promise.allSettled(calls.map(answerOne))
  const refusals = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
  const fault = refusals.find(reason => !(reason instanceof Refusal))
  if (fault !== undefined) throw fault
  const isAway = refusals.length === outcomes.length && refusals.some(({ code }) => code === 'unavailable')
  if (isAway) throw refusals.find(({ code }) => code === 'unavailable')
  return outcomes.map(outcome =>
    outcome.status === 'fulfilled' ? outcome.value : { error: problemOf(outcome.reason) },
  )
}

/**
 * Runs a check of the form of one call, whose paths begin at the call.
 * @param name of the call in the check's own paths.
 * @param path of the call in the list: `checks.3`.
 * @throws {Refusal} `validation_failed`, which names the path within the list.
 */
export function underPath<T>(name: string, path: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    const [fault] = error instanceof Refusal ? error.faults : []
    if (fault === undefined) throw error
    const own = fault.path === name || fault.path === '' ? path : `${path}.${fault.path}`
    throw new Refusal('validation_failed', `${own}: ${fault.message}`, {
      faults: [{ path: own, message: fault.message }],
    })
  }
}
