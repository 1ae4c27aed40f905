import type { pause } from './pause.ts'

/** The clock of a keyring, in milliseconds. Tests replace it. */
export interface Clock {
  /** Since the epoch, by this machine's clock: decides whether a key has expired. */
  wall(): number
  /** Only differences have a meaning, and it is never set back: decides whether keys are still confirmed. */
  monotonic(): number
  /** As `pause`, which it replaces. */
  pause?: typeof pause | undefined
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
}
