import type { RateLimitCheck } from '@keyrail/contract/ratelimit'
import { type Cell, cellAt, fits, type Rule } from './window.ts'

/** One question: whose counters, which limits, and what it costs. */
export interface Check {
  workspaceId: string
  projectId: string
  env: RateLimitCheck['env']
  keyId: string | null
  tenantId: string | null
  cost: number
  rules: readonly Rule[]
}

/** What became of it: the cells in the order of the rules, after it was charged or turned away. */
export interface Tally {
  /** By the store's clock, milliseconds since 1970. */
  now: number
  allowed: boolean
  cells: readonly Cell[]
}

/** One counter of a subject. A limit may change, and its counter goes on. */
export interface Counter extends Pick<Rule, 'id' | 'algorithm' | 'window_ms'> {
  cell: Cell
}

/** The counters of one subject. They are few: to look through them costs less than to put a name together. */
export type Counters = Counter[]

/**
 * Charges every rule, or none when any stands in the way.
 * @param countersOf the counters that a rule's scope counts in; those that are charged are changed.
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
