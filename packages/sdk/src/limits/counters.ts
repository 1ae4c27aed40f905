import type { RateLimit } from '../store/rate-limits.ts'
import type { Valid } from '../verify/verdict.ts'

const COUNTERS_MAX = 10_000

/** What is known of counters, by name. Beyond 10,000 the least recently used one is dropped. */
export class Counters<State> {
  readonly #states = new Map<string, State>()
  readonly #onDrop: ((state: State) => void) | undefined

  constructor(onDrop?: (state: State) => void) {
    this.#onDrop = onDrop
  }

  get size(): number {
    return this.#states.size
  }

  get(name: string): State | undefined {
    const state = this.#states.get(name)
    if (state === undefined) return undefined
    // A map keeps the order of insertion.
    this.#states.delete(name)
    this.#states.set(name, state)
    return state
  }

  set(name: string, state: State): void {
    this.#states.delete(name)
    this.#states.set(name, state)
    if (this.#states.size <= COUNTERS_MAX) return
    for (const [oldest, dropped] of this.#states) {
      this.#states.delete(oldest)
      this.#onDrop?.(dropped)
      return
    }
  }

  delete(name: string): void {
    this.#states.delete(name)
  }

  values(): Iterable<State> {
    return this.#states.values()
  }
}

/** The name contains the whole rule, so that a changed rule is a new counter and the service is asked again. */
export function counterName({ env, keyId, tenantId }: Valid, rule: RateLimit): string {
  const whose = rule.scope === 'tenant' ? `tenant ${tenantId}` : `key ${keyId}`
  return `${env} ${whose} ${JSON.stringify(rule)}`
}
