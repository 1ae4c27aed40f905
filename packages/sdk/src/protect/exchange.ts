import type { HttpProblem } from '../http/problem.ts'
import type { Limiter } from '../limits/limit.ts'
import type { LimitVerdict } from '../limits/verdict.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import type { RefusalCounts } from '../verify/refusal-counts.ts'
import type { Valid } from '../verify/verdict.ts'

/** The answer in place of a route's. */
export interface HttpAnswer {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  body: object
}

/** What a limiter has charged for a request. */
export interface Charge {
  key: Valid
  cost: number
  verdict: LimitVerdict
}

export type Charging = Pick<Limiter, 'limit'>

/** What a gate knows about a request, for later middleware. */
export interface Passage {
  key: Valid | undefined
  /** The listener that knows that the request passed; undefined before that. */
  hasPassed: unknown
  refuse(problem: HttpProblem): HttpAnswer
}

/**
 * What the guards and the middleware of one request know of each other, so that the request is charged, counted and claimed
 * once, whatever stands in its chain.
 */
export class Exchange {
  /** The charges of each limiter that was asked about the request. */
  readonly charges = new Map<Charging, Charge[]>()
  /** The headers of the last charge. A guard adds them to the answer after the handler has run, which may charge too. */
  limitHeaders: LimitVerdict['headers'] = {}
  /** Undefined until a gate has judged the request. */
  passage: Passage | undefined
  /** Whether an `idempotent` has claimed the request, or is about to. */
  isClaimed = false
  /** Whether a `limit` has refused the request, or has not judged it yet. Such a request is not counted. */
  isHeldByLimit = false
  /** Whether `idempotent` must not keep the answer: a refusal, after which a retry may pass, or an embed token. */
  isUnkept = false
  /** Whether a gate in shadow has judged the request. */
  hasShadow = false
  /** That gates which refuse have let the request pass, and the last key that they have found. */
  enforced: { readonly key: Valid | undefined } | undefined
  /** The key that the last gate in shadow has found. */
  #lent: Valid | undefined
  readonly #counted = new Set<object>()

  /** Whether what stands behind the gates may refuse nothing: all of them are in shadow. */
  get isShadow(): boolean {
    return this.hasShadow && this.enforced === undefined
  }

  /** Whether a gate let the request pass without a key. */
  get isAnonymous(): boolean {
    return this.passage !== undefined && this.passage.key === undefined
  }

  /**
   * The key that a handler sees once a gate has let the request pass: that of the gates that refuse, and where all are in shadow that of
   * the last one, unless the vendor's own check has set another.
   * @param seen what a handler would see without that gate
   */
  show(seen: Valid | undefined, found: Valid | undefined): Valid | undefined {
    if (this.enforced !== undefined) return this.enforced.key
    if (seen !== this.#lent) return seen
    this.#lent = found
    return found
  }

  /** True only the first time for a reporter, because several guards may see the same request. */
  takeCount(usage: Pick<UsageReporter, 'count'>): boolean {
    return this.#takeOnce(usage)
  }

  /** True only the first time for what counts refusals. */
  takeRefusal(counts: RefusalCounts): boolean {
    return this.#takeOnce(counts)
  }

  #takeOnce(counter: object): boolean {
    if (this.#counted.has(counter)) return false
    this.#counted.add(counter)
    return true
  }
}

const exchanges = new WeakMap<object, Exchange>()

/** @param request the object that every guard of the request sees: Node's request, the request of the Fetch API, or a context */
export function exchangeOf(request: object): Exchange {
  const known = exchanges.get(request)
  if (known !== undefined) return known
  const exchange = new Exchange()
  exchanges.set(request, exchange)
  return exchange
}
