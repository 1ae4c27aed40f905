import type { RefusalCode } from '../../packages/sdk/src/verify/verdict.ts'

/** The last answer of a poll, as far as it tells why keys are gone. */
export interface Told {
  object: string
  project_deleted: boolean
  generated_at: string
  changes?: { change: string; key_id: string; cause?: string }[]
}

const codeBy: Readonly<Record<string, RefusalCode>> = {
  revoked: 'revoked_key',
  expired: 'expired_key',
  deleted: 'revoked_key',
}

/** When each key ends that a node has a record of, by id, whether or not that is past; Infinity: never. */
export type Ends = ReadonlyMap<string, number>

/** Why a node should refuse the keys that it does not let pass: worked out from what it held and what it was told. */
export class EndedModel {
  #ends: Ends = new Map()
  readonly #ended = new Map<string, RefusalCode>()

  /** @param told null where the node was told that nothing is new */
  heard(ends: Ends, told: Told | null): void {
    // A snapshot does not say why a key is not in it, unless all of them ended.
    const isSaid = told !== null && (told.object === 'policy_delta' || told.project_deleted)
    for (const [id, end] of this.#ends) {
      if (!isSaid || ends.has(id)) continue
      this.#ended.set(id, end > Date.parse(told.generated_at) ? 'revoked_key' : 'expired_key')
    }
    // A cause that the service tells counts, of keys that the node never held as well.
    for (const { change, key_id, cause = '' } of told?.project_deleted ? [] : (told?.changes ?? [])) {
      const code = codeBy[cause]
      if (change === 'tombstone' && code !== undefined) this.#ended.set(key_id, code)
    }
    for (const id of ends.keys()) this.#ended.delete(id)
    this.#ends = ends
  }

  /** The process has begun anew, with these. */
  began(ends: Ends): void {
    this.#ended.clear()
    this.#ends = ends
  }

  /** Of a key that may not be used. */
  codeOf(id: string): RefusalCode {
    return this.#ends.has(id) ? 'expired_key' : (this.#ended.get(id) ?? 'unknown_key')
  }
}
