import { tooManyInFlight } from '../platform/refusal.ts'

/**
 * The checks of lists that one workspace may have pending in one process: a tenth of the queue that all workspaces share. A
 * request brings a hundred, so few connections of one workspace could fill that queue.
 */
export const listedMax = 2_000

/** Counts the pending checks of lists by workspace. */
export class ListedChecks {
  readonly #pending = new Map<string, number>()

  /**
   * @returns ends the count of these checks; call it once they are answered
   * @throws {Refusal} `too_many_in_flight`
   */
  enter(workspaceId: string, checks: number): () => void {
    const before = this.#pending.get(workspaceId) ?? 0
    if (before + checks > listedMax) throw tooManyInFlight()
    this.#pending.set(workspaceId, before + checks)
    return () => {
      const left = (this.#pending.get(workspaceId) ?? checks) - checks
      if (left === 0) this.#pending.delete(workspaceId)
      else this.#pending.set(workspaceId, left)
    }
  }
}
