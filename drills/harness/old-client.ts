import type { FeedHouse } from './feed-house.ts'

/** A key as a client of the first release reads it: no limits, and unknown members are ignored. */
interface OldKey {
  key_id: string
  lookup_hash: string
  expires_at: string | null
}

type OldBody =
  | { object: 'policy_snapshot'; version: number; project_deleted: boolean; keys: OldKey[] }
  | {
      object: 'policy_delta'
      version: number
      project_deleted: boolean
      changes: (OldKey & { change: 'upsert' | 'tombstone' })[]
    }

/**
 * A client from before pages and limits: it names no `max_keys`, looks for no `next_cursor`, and takes each answer for
 * the whole. Written from the specification and not with the SDK.
 */
export class OldClient {
  readonly keys = new Map<string, OldKey>()
  version = 0
  readonly #house: FeedHouse
  readonly #query: string

  constructor(house: FeedHouse, projectId: string) {
    this.#house = house
    this.#query = `project_id=${projectId}`
  }

  /** @returns the status of the answer */
  async poll(): Promise<number> {
    const path = this.version === 0 ? 'snapshot?' : `delta?since=${this.version}&`
    const { status, body } = await this.#house.ask('GET', `/v1/policy/${path}${this.#query}`, {
      token: this.#house.scene.live,
    })
    if (status !== 200) return status
    const answer = body as OldBody
    if (answer.object === 'policy_snapshot' || answer.project_deleted) this.keys.clear()
    if (answer.object === 'policy_snapshot') for (const key of answer.keys) this.keys.set(key.key_id, key)
    else {
      for (const key of answer.changes) {
        if (key.change === 'upsert') this.keys.set(key.key_id, key)
        else this.keys.delete(key.key_id)
      }
    }
    this.version = answer.version
    return status
  }

  /** Ids of the keys that it accepts, sorted. */
  usable(now: number): string[] {
    const usable = [...this.keys.values()].filter(
      ({ expires_at }) => expires_at === null || Date.parse(expires_at) > now,
    )
    return usable.map(({ key_id }) => key_id).sort()
  }
}
