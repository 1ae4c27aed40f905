/** A longer difference between two clocks means that the machine slept. */
const sleepMsMin = 1_000

/**
 * Milliseconds that only grow. `performance.now()` stands still in some browsers while the machine sleeps, so what the
 * wall clock has gone ahead meanwhile is added. A person who sets the wall clock causes one early renewal, at most.
 */
export function createClock(): () => number {
  const wallAhead = () => Date.now() - performance.now()
  let before = wallAhead()
  let sleptMs = 0
  return () => {
    const now = wallAhead()
    if (now - before > sleepMsMin) sleptMs += now - before
    before = now
    return performance.now() + sleptMs
  }
}
