import type { Valid } from '../verify/verdict.ts'

type RateLimit = NonNullable<Valid['rateLimits']>[number]

/** The longest that a counter is believed to deny without being asked. */
const REMEMBERED_MS = 1_000
/** Counters that are remembered; beyond it the oldest are asked again. */
const COUNTERS_MAX = 10_000

/** What the service said of a request that it denied. */
export interface Denied {
  deniedBy: readonly string[]
  /** Until it would pass, if nothing else is spent; null: never. */
  retryAfterMs: number | null
  /** `RateLimit-Policy` and `RateLimit`. */
  policy: string
  state: string
}

interface Denial extends Denied {
  /** What the request was to take: one that takes less may pass. */
  cost: number
  askedAt: number
  until: number
}

/**
 * Counters that have denied. Until one can have room again, one second at most, the service would deny again, so it is not
 * asked: a flood of one customer costs the vendor few calls, and nobody is denied who would have passed.
 */
export class Denials {
  readonly #denials = new Map<string, Denial>()
  readonly #now: () => number

  /** @param now milliseconds on a clock that nobody sets */
  constructor(now: () => number) {
    this.#now = now
  }

  get now(): number {
    return this.#now()
  }

  /** @returns what the service would say now */
  find(key: Valid, cost: number): Denied | undefined {
    if (this.#denials.size === 0) return undefined
    const now = this.#now()
    for (const name of [...namesOf(key), wholeOf(key)]) {
      const denial = this.#denials.get(name)
      if (denial === undefined || cost < denial.cost) continue
      if (now >= denial.until) {
        this.#denials.delete(name)
        continue
      }
      const { deniedBy, retryAfterMs, policy, state } = denial
      const left = retryAfterMs === null ? null : retryAfterMs - (now - denial.askedAt)
      return { deniedBy, retryAfterMs: left, policy, state }
    }
    return undefined
  }

  /** @param askedAt when the request was sent: the service's time cannot be earlier */
  add(key: Valid, cost: number, askedAt: number, denied: Denied): void {
    const until = askedAt + Math.min(denied.retryAfterMs ?? REMEMBERED_MS, REMEMBERED_MS)
    const rules = key.rateLimits ?? []
    const [first, ...others] = denied.deniedBy
    const at = rules.findIndex(({ id }) => id === first)
    const rule = rules[at]
    if (others.length > 0 || rule === undefined) {
      // Of several it is not known which has room the soonest, so only the very same question is answered.
      this.#set(wholeOf(key), { ...denied, cost, askedAt, until })
      return
    }
    const [policy, state] = [memberAt(denied.policy, at, rules), memberAt(denied.state, at, rules)]
    // What is told to another key of the tenant is of this counter alone.
    if (policy === undefined || state === undefined) return
    this.#set(nameOf(key, rule), { ...denied, policy, state, cost, askedAt, until })
  }

  #set(name: string, denial: Denial): void {
    this.#denials.delete(name)
    if (this.#denials.size >= COUNTERS_MAX) {
      for (const oldest of this.#denials.keys()) {
        this.#denials.delete(oldest)
        break
      }
    }
    this.#denials.set(name, denial)
  }
}

/** A rule that was changed is another counter here, and is asked anew. */
function nameOf({ env, keyId, tenantId }: Valid, rule: RateLimit): string {
  const whose = rule.scope === 'tenant' ? `tenant ${tenantId}` : `key ${keyId}`
  return `${env} ${whose} ${JSON.stringify(rule)}`
}
const namesOf = (key: Valid): string[] => (key.rateLimits ?? []).map(rule => nameOf(key, rule))
const wholeOf = (key: Valid): string => `whole ${namesOf(key).join(' ')} ${key.keyId}`

/** One member of a structured list that has one for each rule; undefined where an id has a comma itself. */
function memberAt(list: string, at: number, rules: readonly RateLimit[]): string | undefined {
  const members = list.split(', ')
  return members.length === rules.length ? members[at] : undefined
}
