import type { UsageReport } from '../http/call-types.ts'
import { isUuid } from '../http/option-values.ts'

const HOUR_MS = 3_600_000
/** The service ignores hours that are older than this. */
const AGE_MAX_MS = 7 * 24 * HOUR_MS
const RECORDS_MAX = 1_000
const COUNT_MAX = 1_000_000_000

type UsageRecords = UsageReport['records']

export const requestsIn = ({ records }: UsageReport): number =>
  records.reduce((sum, { count }) => sum + count, 0)

/**
 * Counted requests by hour and key that are not yet in a report. Bounded: after `maxEntries` pairs of hour and key, new pairs
 * are dropped (and counted in `dropped`), while existing ones continue to count.
 */
export class UsageCounts {
  readonly #hours = new Map<number, { readonly firstAt: number; readonly keys: Map<string, number> }>()
  readonly #maxEntries: number
  #entries = 0
  dropped = 0

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** Pairs of hour and key. */
  get size(): number {
    return this.#entries
  }

  get total(): number {
    let total = 0
    for (const { keys } of this.#hours.values()) for (const count of keys.values()) total += count
    return total
  }

  /** Drops an invalid key id here, because the service would reject the whole report. */
  add(keyId: unknown, count: number, now: number): void {
    const hour = Math.floor(now / HOUR_MS)
    let counted = this.#hours.get(hour)
    const before = counted?.keys.get(keyId as string)
    if (before === undefined) {
      if (this.#entries >= this.#maxEntries || !isUuid(keyId)) {
        this.dropped += count
        return
      }
      this.#entries++
    }
    if (counted === undefined) {
      counted = { firstAt: now, keys: new Map() }
      this.#hours.set(hour, counted)
    }
    counted.keys.set(keyId as string, (before ?? 0) + count)
  }

  /** Corrects counts made by a clock that was this far behind. */
  moveBy(milliseconds: number): void {
    const counted = [...this.#hours.values()]
    this.#hours.clear()
    this.#entries = 0
    for (const { firstAt, keys } of counted)
      for (const [keyId, count] of keys) this.add(keyId, count, firstAt + milliseconds)
  }

  /** Takes the records of one report, oldest hours first; empty if there are none. */
  take(now: number): UsageRecords {
    const records: UsageRecords = []
    for (const hour of [...this.#hours.keys()].sort((one, other) => one - other)) {
      const keys = this.#hours.get(hour)?.keys as Map<string, number>
      const tooOld = now - (hour + 1) * HOUR_MS > AGE_MAX_MS
      const time = new Date(hour * HOUR_MS).toISOString()
      for (const [keyId, count] of keys) {
        if (records.length === RECORDS_MAX) return records
        const taken = Math.min(count, COUNT_MAX)
        if (tooOld) this.dropped += count
        else records.push({ key_id: keyId, hour: time, count: taken })
        if (!tooOld && count > taken) {
          keys.set(keyId, count - taken)
        } else {
          keys.delete(keyId)
          this.#entries--
        }
      }
      if (keys.size === 0) this.#hours.delete(hour)
    }
    return records
  }
}
