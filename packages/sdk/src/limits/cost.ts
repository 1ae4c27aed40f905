/** What a request takes of a limit at most; the service takes no more. */
const COST_MAX = 1_000

/**
 * @returns 1 where nothing is given
 * @throws TypeError for what no request can cost
 */
export function readCost(cost: unknown = 1): number {
  if (!Number.isSafeInteger(cost) || (cost as number) < 0 || (cost as number) > COST_MAX) {
    throw new TypeError(`cost must be an integer from 0 to ${COST_MAX}`)
  }
  return cost as number
}
