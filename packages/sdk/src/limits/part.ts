import type { RateLimit } from '../store/rate-limits.ts'
import type { LimitState } from './answer.ts'
import type { Pool, WindowOfUnits } from './pool.ts'

/** One rule of a request. */
export interface Part {
  rule: RateLimit
  /** Absent without `prepay`, and if this version cannot judge a rule of the key: all are charged for every request. */
  pool: Pool | undefined
  /** Whether the request has its units. */
  isPaid: boolean
  /** The window of the units, if they can be put back. */
  window?: WindowOfUnits | undefined
  /** The answer of the service. */
  state?: LimitState | undefined
}

/** Takes the units of one rule from its pool. */
export function take(part: Part, cost: number, now: number): void {
  if (cost === 0) return
  part.window = part.pool?.take(cost, now)
  part.isPaid = part.window !== undefined
}

/** Waits for the units of one rule that are on their way. */
export async function awaitUnits(part: Part, cost: number): Promise<void> {
  part.window = await part.pool?.wait(cost)
  part.isPaid = part.window !== undefined
}

/** Whether this version knows what a unit of the rule means, and for how long. */
export const isJudged = (rule: RateLimit): boolean => {
  const { id, limit, windowMs, algorithm, scope } = (rule ?? {}) as Partial<RateLimit>
  return (
    typeof id === 'string' &&
    /^[\w.-]+$/.test(id) &&
    isCount(limit) &&
    isCount(windowMs) &&
    (algorithm === 'fixed' || algorithm === 'sliding') &&
    (scope === 'key' || scope === 'tenant')
  )
}
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0
