/** The two clocks of a machine may differ by so much without a reason. */
const SLACK_MS = 50

/**
 * A monotonic clock that also counts the time while a machine or process was suspended, when some stand still: units of a window
 * that ended meanwhile must not be used. Time that another clock gained counts as suspended, so setting that clock
 * forward ends units early, and setting it back changes nothing.
 */
export function awakeNow(monotonic: () => number, wall: () => number): () => number {
  let ahead = wall() - monotonic()
  let suspendedMs = 0
  return () => {
    const now = monotonic()
    const gained = wall() - now - ahead
    if (Math.abs(gained) > SLACK_MS) {
      ahead += gained
      suspendedMs += Math.max(0, gained)
    }
    return now + suspendedMs
  }
}
