/** The largest cost of a request that the service accepts. */
export const COST_MAX = 1_000

/**
 * @returns 1 by default
 * @throws TypeError for an invalid cost
 */
export function readCost(cost: unknown = 1): number {
  if (!Number.isSafeInteger(cost) || (cost as number) < 0 || (cost as number) > COST_MAX) {
    throw new TypeError(`cost must be an integer from 0 to ${COST_MAX}`)
  }
  return cost as number
}
