import { importRowsMax } from '@keyrail/contract/vendor/imports'
import { patientRetries } from '../api.ts'

/** A service that cannot import so few in its time has another trouble, which patience may outlast. */
const rowsLeast = 50
/** A call with as many rows as one that failed is tried once so many smaller ones were answered: a service may stay busy for long. */
const callsBetween = 16

/**
 * How many rows a call has. A service that is busy may need longer for many rows than it gives a call, however often they are sent:
 * such a call is followed by smaller ones, and these by larger ones once they are answered.
 */
export class CallSize {
  #rows = importRowsMax
  /** As many were too many. */
  #tooMany = Number.POSITIVE_INFINITY
  /** Calls since then. */
  #calls = 0

  get rows(): number {
    return this.#rows
  }

  /** How often a call of this size is repeated. */
  get retries(): number {
    return this.#rows > rowsLeast ? 1 : patientRetries
  }

  /** @returns false if no call can have fewer rows */
  failed(rows: number): boolean {
    if (this.#rows === rowsLeast) return false
    const most = Math.min(rows, this.#rows)
    this.#tooMany = most
    this.#calls = 0
    this.#rows = Math.max(rowsLeast, Math.floor(most / 2))
    return true
  }

  answered(rows: number): void {
    // The last rows of a batch say nothing about a whole call.
    if (rows < this.#rows) return
    this.#calls += 1
    if (this.#calls > callsBetween) this.#tooMany = Number.POSITIVE_INFINITY
    const more = Math.min(importRowsMax, this.#rows * 2)
    if (more < this.#tooMany) this.#rows = more
  }
}
