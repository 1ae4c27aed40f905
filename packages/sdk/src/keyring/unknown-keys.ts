import type { Clock } from '../runtime/clock.ts'
import { digestOf } from '../runtime/digest.ts'
import { asKeyrailError, type KeyrailError, lasting } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import type { AsksVendor } from '../verify/gate-parts.ts'
import { type Refused, refused, type Verdict } from '../verify/verdict.ts'
import type { Requirements, Served, Verify } from '../verify/verify.ts'
import { type Customer, CustomerError, type OnUnknownKey, readCustomer } from './imported-customer.ts'
import type { Imported } from './importer.ts'

/** Keys at once. The check of each may take a processor for a while, as bcrypt does. */
const KEYS_MAX = 64
/** A request waits so long for its check. */
const CHECK_MS = 5_000
/** A check that has not ended after this time never will, and makes room. */
const LOST_MS = 60_000
/** After its import, a key reaches a node within some tens of milliseconds if the service holds the node's polls. */
const ARRIVES_MS = 2_000
const REFUSED_MS = 60_000
/** After an import that failed, or did not arrive: as long as callers are told to wait. */
const AGAIN_MS = 5_000
const DIGESTS_MAX = 10_000

const notHeld = (why: string): Refused =>
  Object.freeze({ valid: false, code: 'not_held', message: `The API key is not held here, and ${why}` })
const busy = notHeld('too many such keys are being checked at once')
const away = notHeld('its import has not arrived')

interface UnknownKeysDeps {
  check: OnUnknownKey
  /** Imports one key. */
  send: (digest: string, customer: Customer) => Promise<Imported>
  clock: Pick<Clock, 'monotonic' | 'pause'>
  served: Served
  cachedTtlMs: number
  /** Judges by the served keys. */
  judge: Verify
  onError: (error: KeyrailError) => void
}

/** What became of a key. `arrived`: the node holds it, and judges it as any other. */
type Outcome = 'arrived' | 'refused' | 'away'

/** All requests with one key. Neither promise rejects. */
interface Flight {
  beganAt: number
  checked: Promise<unknown>
  outcome: Promise<Outcome>
}

/**
 * Asks the vendor's own check about keys that the feed does not have, imports those that it accepts, and waits until the feed has
 * them. It admits no key by itself. Bounded in keys at once, and in what it remembers.
 */
export class UnknownKeys implements AsksVendor {
  readonly #deps: UnknownKeysDeps
  /** By digest, oldest first: what needs no check for a while. */
  readonly #known = new Map<string, { outcome: Outcome; until: number }>()
  readonly #flights = new Map<string, Flight>()
  /** Called after each poll. */
  readonly #waiting = new Set<() => void>()

  constructor(deps: UnknownKeysDeps) {
    this.#deps = deps
  }

  async ask(key: string, requirements: Requirements, refusal: Refused): Promise<Verdict> {
    const { clock, served, cachedTtlMs, judge } = this.#deps
    const now = clock.monotonic()
    // Without confirmed keys nobody knows whether the key was imported, and ended since.
    if (served.store === undefined) return refused.not_ready
    if (!(served.store.confirmedAt > now - cachedTtlMs)) return refused.stale
    const digest = digestOf(key)
    const known = this.#known.get(digest)
    if (known !== undefined && now < known.until) return known.outcome === 'refused' ? refusal : away
    const flight = this.#flightOf(digest, key, requirements)
    if (flight === undefined) return busy
    if (!(await this.#within(CHECK_MS, flight.checked))) return refusal
    const outcome = await flight.outcome
    if (outcome === 'arrived') {
      const verdict = judge(key, requirements)
      // The feed has it elsewhere than its text says: no check or import would change that.
      if (verdict.code === 'unknown_key') this.#remember(digest, 'refused', REFUSED_MS)
      return verdict
    }
    return outcome === 'refused' ? refusal : away
  }

  /** Call it after each poll. */
  polled(): void {
    for (const look of this.#waiting) look()
  }

  /** One check and one import for all requests with this key. Undefined: there are too many keys. */
  #flightOf(digest: string, key: string, requirements: Requirements): Flight | undefined {
    const now = this.#deps.clock.monotonic()
    for (const [each, { beganAt }] of this.#flights) {
      if (now - beganAt < LOST_MS) break
      this.#flights.delete(each)
    }
    const before = this.#flights.get(digest)
    if (before !== undefined) return before
    if (this.#flights.size >= KEYS_MAX) return undefined
    const checked = this.#check(digest, key, requirements)
    const outcome = checked.then(customer => (customer ? this.#import(digest, customer) : 'refused'))
    const flight = { beganAt: now, checked, outcome }
    this.#flights.set(digest, flight)
    outcome.finally(() => {
      if (this.#flights.get(digest) === flight) this.#flights.delete(digest)
    })
    return flight
  }

  async #check(digest: string, key: string, requirements: Requirements): Promise<Customer | undefined> {
    const { check, onError } = this.#deps
    try {
      const given: unknown = await check(key, requirements)
      if (given !== null && given !== undefined) return readCustomer(given)
      this.#remember(digest, 'refused', REFUSED_MS)
    } catch (error) {
      // What the vendor's function throws may hold the key.
      const why = error instanceof CustomerError ? error.message : 'it threw or rejected'
      onError(lasting('own_check_failed', `onUnknownKey failed, so the request was refused: ${why}`))
    }
    return undefined
  }

  async #import(digest: string, customer: Customer): Promise<Outcome> {
    const { send, onError } = this.#deps
    try {
      const { isActive, faults } = await send(digest, customer)
      if (faults !== undefined) {
        const why = `Keyrail does not take the customer that it returned: ${faults}`
        onError(lasting('own_check_failed', `onUnknownKey failed, so the request was refused: ${why}`))
      }
      if (!isActive) return this.#remember(digest, 'refused', REFUSED_MS)
      if (await this.#arrives(digest)) return 'arrived'
    } catch (error) {
      onError(asKeyrailError(error))
    }
    return this.#remember(digest, 'away', AGAIN_MS)
  }

  /** Whether the node holds the key, at once or soon. */
  async #arrives(digest: string): Promise<boolean> {
    const { served } = this.#deps
    const isHeld = () => (served.store?.find(digest) ?? -1) !== -1
    if (isHeld()) return true
    let look = () => {}
    const arrived = new Promise<void>(resolve => {
      look = () => isHeld() && resolve()
    })
    this.#waiting.add(look)
    const hasArrived = await this.#within(ARRIVES_MS, arrived)
    this.#waiting.delete(look)
    return hasArrived
  }

  /** Whether the work ends within the time. */
  async #within(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
    const { pause: wait = pause } = this.#deps.clock
    const over = new AbortController()
    const timed = wait(milliseconds, over.signal).then(() => false)
    return await Promise.race([work.then(() => true), timed]).finally(() => over.abort())
  }

  /** Drops the oldest beyond the bound. */
  #remember(digest: string, outcome: Outcome, forMs: number): Outcome {
    this.#known.delete(digest)
    this.#known.set(digest, { outcome, until: this.#deps.clock.monotonic() + forMs })
    const [oldest] = this.#known.keys()
    if (this.#known.size > DIGESTS_MAX && oldest !== undefined) this.#known.delete(oldest)
    return outcome
  }
}
