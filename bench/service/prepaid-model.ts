import { type Counters, charge } from '../../packages/server/src/ratelimit/fold.ts'
import { fits, type Rule, used } from '../../packages/server/src/ratelimit/window.ts'

/** What happened to a request, by the clock of the machine in ms since 1970. */
export interface Asked {
  key: number
  askedAt: number
  answeredAt: number
  passed: boolean
}

/** Units that were charged and that no request can use. */
export interface Loss {
  key: number
  at: number
  units: number
}

/**
 * How many requests passed beyond the limits. A request that was under way when a window ended counts in the one that has
 * room, because only the service knows when it was charged; every other at the last moment of its answer.
 */
export function beyondLimits(rules: readonly Rule[], requests: readonly Asked[]): number {
  const passed = requests.filter(each => each.passed).toSorted((a, b) => a.answeredAt - b.answeredAt)
  let beyond = 0
  for (const rule of rules) {
    const subjects = Map.groupBy(passed, ({ key }) => (rule.scope === 'key' ? key : 0))
    for (const own of subjects.values()) beyond += beyondLimit(rule, own)
  }
  return beyond
}

function beyondLimit(rule: Rule, passed: readonly Asked[]): number {
  const { window_ms } = rule
  const spent = new Map<number, number>()
  const unitsOf = (start: number) => spent.get(start) ?? 0
  const startOf = (at: number) => Math.floor(at / window_ms) * window_ms
  let beyond = 0
  for (const { askedAt, answeredAt } of passed) {
    const last = startOf(answeredAt)
    const start = [startOf(askedAt), last].find(start => {
      const cell = { start, previous: unitsOf(start - window_ms), current: unitsOf(start) }
      return fits(cell, rule, 1, Math.min(answeredAt, start + window_ms - 1))
    })
    if (start === undefined) beyond += 1
    spent.set(start ?? last, unitsOf(start ?? last) + 1)
  }
  return beyond
}

/** How many of the requests an exact limiter without a network lets pass, when it loses the same units. */
export function passedByModel(
  rules: readonly Rule[],
  requests: readonly Asked[],
  losses: readonly Loss[],
): number {
  const subjects = new Map<string, Counters>()
  const countersOf = (key: number) => (scope: Rule['scope']) => {
    const name = scope === 'key' ? `key ${key}` : 'tenant'
    const known = subjects.get(name) ?? []
    subjects.set(name, known)
    return known
  }
  const asked = requests.map(({ key, askedAt }) => ({ key, at: askedAt, units: null }))
  const events = [...asked, ...losses].toSorted((a, b) => a.at - b.at)
  let passed = 0
  for (const { key, at, units } of events) {
    if (units === null) {
      if (charge({ rules, cost: 1 }, countersOf(key), at).allowed) passed += 1
      continue
    }
    const { cells } = charge({ rules, cost: 0 }, countersOf(key), at)
    const room = rules.map((rule, i) => rule.limit - used(cells[i] as (typeof cells)[number], rule, at))
    charge({ rules, cost: Math.max(0, Math.min(units, ...room)) }, countersOf(key), at)
  }
  return passed
}
