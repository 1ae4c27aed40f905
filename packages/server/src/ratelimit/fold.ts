import type { RateLimitCheck } from '@keyrail/contract/ratelimit'
import { type Cell, cellAt, counterName, fits, type Rule } from './window.ts'

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

/** The counters of one subject, by `counterName`. */
export type Counters = Map<string, Cell>

/**
 * Charges every rule, or none when any stands in the way.
 * @param countersOf the counters that a rule's scope counts in; those that are charged are changed.
 */
export function charge(check: Check, countersOf: (rule: Rule) => Counters, now: number): Tally {
  const { rules, cost } = check
  const cells = rules.map(rule => cellAt(countersOf(rule).get(counterName(rule)), rule, now))
  const allowed = rules.every((rule, i) => fits(cells[i] as Cell, rule, cost, now))
  if (!allowed || cost === 0) return { now, allowed, cells }
  const charged = cells.map(({ start, previous, current }) => ({ start, previous, current: current + cost }))
  rules.forEach((rule, i) => {
    countersOf(rule).set(counterName(rule), charged[i] as Cell)
  })
  return { now, allowed, cells: charged }
}
