/** Time as the keyring sees it; tests put their own in its place. Both in milliseconds. */
export interface Clock {
  /** Since the epoch, on this machine's own clock: decides whether a key has expired. */
  wall(): number
  /** Of no meaning but its differences, and never set back: decides whether a record is still confirmed. */
  monotonic(): number
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
}
