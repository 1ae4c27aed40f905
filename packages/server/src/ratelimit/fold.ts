import type { RateLimitCheck } from '@keyrail/contract/ratelimit'
import { type Cell, cellAt, fits, type Rule } from './window.ts'

/** One check: whose counters, which limits, and the cost to charge. */
export interface Check {
  workspaceId: string
  projectId: string
  env: RateLimitCheck['env']
  keyId: string | null
  tenantId: string | null
  cost: number
  rules: readonly Rule[]
}

/** The result of a check: the cells in the order of the rules, after the charge or the refusal. */
export interface Tally {
  /** By the store's clock, milliseconds since 1970. */
  now: number
  allowed: boolean
  cells: readonly Cell[]
}

/** One counter of a subject. Its name does not depend on the limit, so that a changed limit keeps its counter. */
export interface Counter extends Pick<Rule, 'id' | 'algorithm' | 'window_ms'> {
  cell: Cell
}

/** The counters of one subject. A subject has so few that scanning them costs less than building a name to look up. */
export type Counters = Counter[]

/**
 * Charges every rule, or none if one rule does not allow the cost.
 * @param countersOf returns the counters of a scope. A charge changes them.
 */
export function charge(
  { rules, cost }: Pick<Check, 'rules' | 'cost'>,
  countersOf: (scope: Rule['scope']) => Counters,
  now: number,
): Tally {
  const cells: Cell[] = []
  let allowed = true
  for (const rule of rules) {
    const cell = cellAt(counterOf(countersOf(rule.scope), rule)?.cell, rule, now)
    cells.push(cell)
    allowed &&= fits(cell, rule, cost, now)
  }
  if (!allowed || cost === 0) return { now, allowed, cells }
  for (let i = 0; i < cells.length; i++) {
    const { id, algorithm, window_ms, scope } = rules[i] as Rule
    const { start, previous, current } = cells[i] as Cell
    const cell = { start, previous, current: current + cost }
    cells[i] = cell
    const counters = countersOf(scope)
    const counter = counterOf(counters, rules[i] as Rule)
    if (counter === undefined) counters.push({ id, algorithm, window_ms, cell })
    else counter.cell = cell
  }
  return { now, allowed, cells }
}

function counterOf(counters: Counters, rule: Rule): Counter | undefined {
  for (const counter of counters) {
    if (
      counter.window_ms === rule.window_ms &&
      counter.algorithm === rule.algorithm &&
      counter.id === rule.id
    )
      return counter
  }
  return undefined
}
