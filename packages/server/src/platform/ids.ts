import { v7 } from 'uuid'
import type { Clock } from './clock.ts'

/** Makes UUIDv7 ids (RFC 9562), which are time-ordered, so that newest first is a walk down the primary key. */
export type MakeId = () => string

/** The lowest id that can be made at a time, for lists that are read between two times. */
export function lowestIdAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/**
 * Ids of one millisecond differ by a counter in the 32 bits after the time, so that this process makes them in
 * order. The counter starts at a random value in the lower half of its range.
 */
export function idMaker(clock: Clock, randomBytes: (size: number) => Buffer): MakeId {
  let last = 0
  let counter = 0
  return () => {
    const now = clock.now()
    if (now > last) {
      last = now
      counter = randomBytes(4).readUInt32BE() >>> 1
    } else {
      counter += 1
    }
    return v7({ msecs: last, seq: counter, random: randomBytes(16) })
  }
}

/** The id of what was made elsewhere, at a time since 1970 in ms: it takes its place among ids that were made here. */
export const idOfTime = (ms: number, randomBytes: (size: number) => Buffer): string =>
  v7({ msecs: ms, seq: randomBytes(4).readUInt32BE(), random: randomBytes(16) })
