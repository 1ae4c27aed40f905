import type { Statement } from '../db/connection.ts'
import { type Leg, type RowBound, toLeg } from '../db/pool/flight.ts'
import { type Listed, pageLimits } from './listed.ts'

/** How a list is read. */
export interface ListBounds {
  /** The rows that the statement returns at most. */
  readonly most: number
  /** The most bytes of rows; by default, the most bytes of a page. */
  readonly bytesMax?: number
}

/** Reserves memory for so many more bytes. @throws {NoCapacity} if there is none. */
export type HoldRows = (bytes: number) => void

/** Counts the rows of all lists of one transaction. */
export function totalOf(hold: HoldRows | null): HoldRows {
  let total = 0
  return bytes => {
    total += bytes
    hold?.(total)
  }
}

/**
 * The statement of a list. Its rows are read up to a number of bytes, but at least one row. Memory for each row is reserved
 * before the row is kept; without memory, the list fails once its statement has ended, so that the connection stays usable.
 */
export function toListLeg<Row>(
  statement: Statement,
  values: readonly unknown[],
  { most, bytesMax = pageLimits.bytesMax }: ListBounds,
  hold: HoldRows,
  { resolve, reject }: { resolve(listed: Listed<Row>): void; reject(error: unknown): void },
): Leg {
  let bytes = 0
  let isCut = false
  let failure: unknown = null
  const bound: RowBound = {
    most,
    takes(size) {
      if (isCut) return false
      if (bytes > 0 && bytes + size > bytesMax) {
        isCut = true
        return false
      }
      try {
        hold(size)
      } catch (error) {
        failure = error
        isCut = true
        return false
      }
      bytes += size
      return true
    },
    isFull: () => isCut,
  }
  const onRows = (rows: object[]) => {
    if (failure === null) resolve({ rows: rows as Row[], bytes, isCut })
    else reject(failure)
  }
  return { ...toLeg(statement, values, onRows), bound }
}
