import type { Clock } from '../../clock.ts'
import type { Logger } from '../../observe/log.ts'

/** Compares the store's clock with the monotonic clock of the process, and so notices when somebody sets the store's clock. */
export interface StoreClock {
  /** Call `ask` before the store is asked for its time, and the returned function with the store's answer, in ms since 1970. */
  ask(): (storeMs: number) => void
  /** When the store's clock was last found set ahead, by the monotonic clock; negative infinity: never. */
  aheadAt(): number
}

/** Between two readings, clocks that nobody sets drift apart by far less; `keyrail doctor` warns from this difference on too. */
const stepMs = 5_000

export function createStoreClock({ monotonic }: Pick<Clock, 'monotonic'>, log: Logger): StoreClock {
  /** How far the store's clock is ahead of the monotonic one: the store read its clock between the question and the answer. */
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
        // If the process or the store stalls, a reading is less exact, but shows no step.
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
