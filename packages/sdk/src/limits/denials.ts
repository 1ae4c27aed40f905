import type { RateLimit } from '../store/rate-limits.ts'
import type { Valid } from '../verify/verdict.ts'
import type { CheckAnswer, LimitState } from './answer.ts'
import { Counters, counterName } from './counters.ts'
import { denial, type LimitVerdict, retryAfter } from './verdict.ts'

/** The longest time for which a denial without a time is reused, and any denial without `prepay`. */
export const REMEMBERED_MS = 1_000
/** What a sliding limit gets back in this part of its window is gathered: more passes less, and less costs more calls. */
const GATHERED_PART = 1 / 16

/** For how long denials are remembered. */
export interface Memory {
  readonly longestMs: number
  /** Whether units of a sliding limit, which come back one by one, are left to gather before the service is asked again. */
  readonly isGathering: boolean
}

interface Denial {
  deniedBy: readonly string[]
  retryAfterMs: number | null
  /** `RateLimit-Policy` and `RateLimit`. */
  policy: string
  state: string
  /** The numbers of `state`, as they were. */
  limits: readonly LimitState[] | undefined
  /** The cost of the denied request: a cheaper one may fit. */
  cost: number
  askedAt: number
  until: number
}

/**
 * Counters that have denied. Until units of a counter can be left again the service would deny again, so it is not called: a flood
 * from one customer costs few calls, and no request is denied that would have passed.
 */
export class Denials {
  readonly #denials = new Counters<Denial>()
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  get size(): number {
    return this.#denials.size
  }

  /** @returns what the service would answer now about these limits of the key */
  find(key: Valid, rules: readonly RateLimit[], cost: number, now: number): LimitVerdict | undefined {
    if (this.#denials.size === 0) return undefined
    for (const name of [...namesOf(key, rules), wholeOf(key, rules)]) {
      const found = this.#denials.get(name)
      if (found === undefined || cost < found.cost) continue
      if (now >= found.until) this.#denials.delete(name)
      else return remembered(found, now - found.askedAt)
    }
    return undefined
  }

  /** @param askedAt when the request was sent, which is not later than the service's answer */
  add(key: Valid, rules: readonly RateLimit[], cost: number, askedAt: number, answer: CheckAnswer): void {
    if (answer.retryAfterMs === undefined) return
    const { deniedBy, headers, limits } = answer
    const retryAfterMs = this.#waitOf(rules, answer)
    const until =
      askedAt + (retryAfterMs === null ? REMEMBERED_MS : Math.min(retryAfterMs, this.#memory.longestMs))
    const { ratelimit: state = '', 'ratelimit-policy': policy = '' } = headers
    const denied = { deniedBy, retryAfterMs, policy, state, limits, cost, askedAt, until }
    const [first, ...others] = deniedBy
    const at = rules.findIndex(({ id }) => id === first)
    const rule = rules[at]
    if (others.length > 0 || rule === undefined) {
      // With several limits it is unknown which has units left first, so only the same key and cost is denied again.
      this.#denials.set(wholeOf(key, rules), denied)
      return
    }
    const [ownPolicy, ownState] = [memberAt(policy, at, rules), memberAt(state, at, rules)]
    // Another key of the tenant gets only the state of this counter.
    if (ownPolicy === undefined || ownState === undefined) return
    const own = { policy: ownPolicy, state: ownState, limits: limits?.slice(at, at + 1) }
    this.#denials.set(counterName(key, rule), { ...denied, ...own })
  }

  #waitOf(rules: readonly RateLimit[], { deniedBy, retryAfterMs = null }: CheckAnswer): number | null {
    if (retryAfterMs === null || !this.#memory.isGathering) return retryAfterMs
    const gathered = rules.filter(({ id, algorithm }) => algorithm === 'sliding' && deniedBy.includes(id))
    return Math.max(retryAfterMs, ...gathered.map(({ windowMs }) => windowMs * GATHERED_PART))
  }
}

function remembered({ deniedBy, retryAfterMs, policy, state, limits }: Denial, ageMs: number): LimitVerdict {
  const aged = (milliseconds: number) => Math.max(0, Math.ceil(milliseconds - ageMs))
  const ratelimit = state.replace(/;t=(\d+)/g, (_, t) => `;t=${Math.ceil(aged(t * 1_000) / 1_000)}`)
  const left = retryAfterMs === null ? null : retryAfterMs - ageMs
  return denial(deniedBy, {
    headers: { 'ratelimit-policy': policy, ratelimit, ...retryAfter(left) },
    limits: limits?.map(limit => ({ ...limit, resetMs: aged(limit.resetMs) })),
    source: 'remembered',
  })
}

const namesOf = (key: Valid, rules: readonly RateLimit[]): string[] =>
  rules.map(rule => counterName(key, rule))
const wholeOf = (key: Valid, rules: readonly RateLimit[]): string =>
  `whole ${namesOf(key, rules).join(' ')} ${key.keyId}`

/** One member of a structured list that has one for each rule; undefined if an id contains a comma. */
function memberAt(list: string, at: number, rules: readonly RateLimit[]): string | undefined {
  const members = list.split(', ')
  return members.length === rules.length ? members[at] : undefined
}
