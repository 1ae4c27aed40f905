import { isByAge } from '../../packages/sdk/src/store/end.ts'
import type { RefusalCode } from '../../packages/sdk/src/verify/verdict.ts'

/** The last answer of a poll, with the reasons that it gives for ended keys. */
export interface FeedAnswer {
  object: string
  project_deleted: boolean
  generated_at: string
  changes?: { change: string; key_id: string; cause?: string }[]
}

const codeBy: Readonly<Record<string, RefusalCode>> = {
  revoked: 'revoked_key',
  expired: 'expired_key',
  deleted: 'revoked_key',
  disabled: 'disabled_key',
  suspended: 'suspended_tenant',
}

/** When each key of a node's records ends, by id, past ends included; Infinity: never. */
export type Ends = ReadonlyMap<string, number>

/** Why a node should refuse the keys that it does not accept: derived from the node's keys and the feed's answers. */
export class EndedModel {
  #ends: Ends = new Map()
  readonly #ended = new Map<string, RefusalCode>()

  /** @param answer null for an answer without changes */
  heard(ends: Ends, answer: FeedAnswer | null): void {
    // A snapshot does not say why a key is missing, unless all of them ended.
    const isSaid = answer !== null && (answer.object === 'policy_delta' || answer.project_deleted)
    for (const [id, end] of this.#ends) {
      if (!isSaid || ends.has(id)) continue
      const atEnd = isByAge(end) ? 'too_old' : 'expired_key'
      this.#ended.set(id, end > Date.parse(answer.generated_at) ? 'revoked_key' : atEnd)
    }
    // A reason in the answer counts, also for keys that the node never held.
    for (const { change, key_id, cause = '' } of answer?.project_deleted ? [] : (answer?.changes ?? [])) {
      const code = codeBy[cause]
      if (change === 'tombstone' && code !== undefined) this.#ended.set(key_id, code)
      // It has not ended: if the node does not hold it, the node could not read it.
      if (change === 'upsert') this.#ended.delete(key_id)
    }
    for (const id of ends.keys()) this.#ended.delete(id)
    this.#ends = ends
  }

  /** The process has restarted with these. */
  began(ends: Ends): void {
    this.#ended.clear()
    this.#ends = ends
  }

  /**
   * The reason for a key that may not be used.
   * @param atEnd the reason if the node still holds the key
   */
  codeOf(id: string, atEnd: RefusalCode): RefusalCode {
    return this.#ends.has(id) ? atEnd : (this.#ended.get(id) ?? 'unknown_key')
  }
}
