/**
 * A write that must change exactly one row; otherwise its transaction fails. Row-level security hides rows without an error, so
 * without this check a write in the wrong workspace would seem to have ended a right.
 * @param write an `update` without `returning`.
 */
export const changesOne = (write: string): string =>
  `with touched as (${write} returning 1) select must_touch(1, count(*)) from touched`

/** A write that must end a right has changed no row, though the row exists. Its transaction fails. */
export class RightNotEnded extends Error {
  constructor(what: string) {
    super(`${what} is there, and the write that ends it changed no row`)
  }
}
