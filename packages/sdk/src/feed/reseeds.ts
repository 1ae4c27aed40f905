/** Counts successive snapshots sent in place of deltas. The poller slows down while they make no progress. */
export class Reseeds {
  count = 0
  /** The last of them, whose version did not rise. */
  stuck = 0

  add(hasRisen: boolean): void {
    this.count++
    this.stuck = hasRisen ? 0 : this.stuck + 1
  }

  end(): void {
    this.count = 0
    this.stuck = 0
  }
}
