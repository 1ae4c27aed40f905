/** Snapshots in a row that came where changes were asked for: the poller asks less and less where they lead nowhere. */
export class Reseeds {
  count = 0
  /** Those whose version did not rise. */
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
