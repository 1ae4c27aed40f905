import { importRowsMax } from '@keyrail/contract/vendor/imports'
import { patientRetries } from '../api.ts'

/** A service that cannot import so few in its time has another trouble, which patience may outlast. */
const rowsLeast = 50

/**
 * How many rows a call has. A service that is busy may need longer for many rows than it gives a call, however often they are sent:
 * such a call is followed by smaller ones, and a call that was answered by larger ones.
 */
export class CallSize {
  #rows = importRowsMax

  get rows(): number {
    return this.#rows
  }

  /** How often a call of this size is repeated. */
  get retries(): number {
    return this.#rows > rowsLeast ? 1 : patientRetries
  }

  /** @returns false if a call has the fewest rows already */
  less(): boolean {
    if (this.#rows === rowsLeast) return false
    this.#rows = Math.max(rowsLeast, Math.floor(this.#rows / 2))
    return true
  }

  more(): void {
    this.#rows = Math.min(importRowsMax, this.#rows * 2)
  }
}
