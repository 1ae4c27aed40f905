import type { Clock } from '../../clock.ts'
import type { Logger } from '../../observe/log.ts'

/** Compares the store's clock with the monotonic one of the process, and so notices when the store's is set. */
export interface StoreClock {
  /** Call it before the store is asked for its time, and what it returns with the answer, in ms since 1970. */
  ask(): (storeMs: number) => void
  /** When it was last found set ahead, by the monotonic clock; before all times: never. */
  aheadAt(): number
}

/** What runs apart without being set, between two readings, is far less; `keyrail doctor` warns from here on too. */
const stepMs = 5_000

export function createStoreClock({ monotonic }: Pick<Clock, 'monotonic'>, log: Logger): StoreClock {
  /** How far the store is before the monotonic clock. It said its time after it was asked, and before its answer came. */
  let known: { least: number; most: number } | null = null
  let aheadAt = Number.NEGATIVE_INFINITY
  return {
    ask() {
      const askedAt = monotonic()
      return storeMs => {
        const answeredAt = monotonic()
        const read = { least: storeMs - answeredAt, most: storeMs - askedAt }
        const before = known ?? read
        known = read
        // A process or a store that stalls makes a reading less exact, but no step.
        const ahead = read.least - before.most
        const back = before.least - read.most
        if (ahead > stepMs) {
          aheadAt = answeredAt
          log.warn({ seconds: Math.round(ahead / 1_000) }, 'the clock of the database was set ahead')
        }
        if (back > stepMs)
          log.warn({ seconds: Math.round(back / 1_000) }, 'the clock of the database was set back')
      }
    },
    aheadAt: () => aheadAt,
  }
}
