/** How failures in a row on one account slow down what follows. Values in, values out. */

/** Failures in a row that cost nothing: so often a person may be wrong. */
export const freeFailures = 10

/** The longest that the answer of a failure is held, in ms. */
const holdMsMax = 4_000

const firstHoldMs = 250

/** Checks of one account that may be under way beyond the free failures. */
export const fewestAtOnce = 4

/** How long without a failure until an account's are forgotten, in ms. */
export const quietMs = 15 * 60_000

/** How long the answer of a failure is held that makes it so many in a row: 0.25, 0.5, 1, 2, then 4 s. */
export const holdMsOf = (failures: number): number =>
  failures <= freeFailures ? 0 : Math.min(holdMsMax, firstHoldMs * 2 ** (failures - freeFailures - 1))

/**
 * How many checks may be under way after so many failures in a row. Those that are under way may all fail, so as many
 * as are still free; held answers count as under way, which makes four of them in four seconds one guess a second.
 */
export const checksAtOnce = (failures: number): number => Math.max(fewestAtOnce, freeFailures - failures)
