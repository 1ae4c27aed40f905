import type { Clock } from '../runtime/clock.ts'
import { digestOf } from '../runtime/digest.ts'
import { asKeyrailError, type KeyrailError, lasting } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import type { AsksVendor } from '../verify/gate-parts.ts'
import { readKeyForm } from '../verify/token.ts'
import { type Refused, refused, type Verdict } from '../verify/verdict.ts'
import type { Requirements, Served, Verify } from '../verify/verify.ts'
import { type Customer, CustomerError, type OnUnknownKey, readCustomer } from './imported-customer.ts'
import type { Imported } from './importer.ts'

/** Keys at once. The check of each may take a processor for a while, as bcrypt does. */
const KEYS_MAX = 64
/** So long requests wait for the check of a key. After that it is late, and no request waits for it. */
const CHECK_MS = 5_000
/** After its import, a key reaches a node within some tens of milliseconds if the service holds the node's polls. */
const ARRIVES_MS = 2_000
const REFUSED_MS = 60_000
/** After a check or an import that failed, or a key that did not arrive: as long as callers are told to wait. */
const AGAIN_MS = 5_000
const DIGESTS_MAX = 10_000
/** From as many late checks on, the vendor is told when a key finds no place. */
const LATE_MANY = KEYS_MAX / 2

const notHeld = (why: string): Refused =>
  Object.freeze({ valid: false, code: 'not_held', message: `The API key is not held here, and ${why}` })
const busy = notHeld('too many such keys are being checked at once')
/** What a check that fails, or is late, says about its key: nothing. */
const unchecked = notHeld('it could not be checked')
const away = notHeld('its import has not arrived')

interface UnknownKeysDeps {
  check: OnUnknownKey
  /** Imports one key. Without an environment, into that of the node. */
  send: (digest: string, customer: Customer, env: 'live' | 'test' | undefined) => Promise<Imported>
  clock: Pick<Clock, 'monotonic' | 'pause'>
  served: Served
  cachedTtlMs: number
  /** Judges by the served keys. */
  judge: Verify
  onError: (error: KeyrailError) => void
}

/** What became of a key. `arrived`: the node holds it, and judges it as any other. */
type Outcome = 'arrived' | 'refused' | 'unchecked' | 'away'

/** All requests with one key. Neither promise rejects. */
interface Flight {
  beganAt: number
  /** Whether its check has ended. */
  isChecked: boolean
  checked: Promise<Customer | 'refused' | 'unchecked'>
  outcome: Promise<Outcome>
}

/**
 * Asks the vendor's own check about keys that the feed does not have, imports those that it accepts, and waits until the feed has
 * them. It admits no key by itself. Bounded in keys at once, and in what it remembers: a check keeps its place until it ends, because
 * the vendor's process has its work for as long.
 */
export class UnknownKeys implements AsksVendor {
  readonly #deps: UnknownKeysDeps
  /** By digest, oldest first: what needs no check for a while. */
  readonly #known = new Map<string, { outcome: Outcome; until: number }>()
  readonly #flights = new Map<string, Flight>()
  #hasToldOfLate = false
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
    if (known !== undefined && now < known.until) return refusalOf(known.outcome, refusal)
    const flight = this.#flightOf(digest, key)
    if (flight === undefined) return busy
    const leftMs = flight.beganAt + CHECK_MS - now
    const isChecked = flight.isChecked || (leftMs > 0 && (await this.#within(leftMs, flight.checked)))
    if (!isChecked) return unchecked
    const outcome = await flight.outcome
    if (outcome === 'arrived') {
      const verdict = judge(key, requirements)
      // The feed has it elsewhere than its text says: no check or import would change that.
      if (verdict.code === 'unknown_key') this.#remember(digest, 'refused', REFUSED_MS)
      return verdict
    }
    return refusalOf(outcome, refusal)
  }

  /** Call it after each poll. */
  polled(): void {
    for (const look of this.#waiting) look()
  }

  /** One check and one import for all requests with this key. Undefined: there are too many keys. */
  #flightOf(digest: string, key: string): Flight | undefined {
    const before = this.#flights.get(digest)
    if (before !== undefined) return before
    if (this.#flights.size >= KEYS_MAX) {
      this.#tellOfLate()
      return undefined
    }
    const form = readKeyForm(key)
    const env = form === 'malformed' ? undefined : form
    const checked = this.#check(digest, key).finally(() => {
      flight.isChecked = true
    })
    const outcome = checked.then(customer =>
      typeof customer === 'string' ? customer : this.#import(digest, customer, env),
    )
    const flight = { beganAt: this.#deps.clock.monotonic(), isChecked: false, checked, outcome }
    this.#flights.set(digest, flight)
    outcome.finally(() => {
      this.#flights.delete(digest)
      this.#hasToldOfLate &&= this.#countLate() >= LATE_MANY
    })
    return flight
  }

  /** Checks that never end would fill all places for good, and each refuses its key without an error. */
  #tellOfLate(): void {
    const late = this.#hasToldOfLate ? 0 : this.#countLate()
    if (late < LATE_MANY) return
    this.#hasToldOfLate = true
    const what = `${late} calls of onUnknownKey have not ended after 5,000 ms`
    const message = `${what}, so keys that this server does not have are refused until some of the calls end`
    this.#deps.onError(lasting('own_check_failed', message))
  }

  #countLate(): number {
    const lateAt = this.#deps.clock.monotonic() - CHECK_MS
    return [...this.#flights.values()].filter(({ isChecked, beganAt }) => !isChecked && beganAt <= lateAt)
      .length
  }

  async #check(digest: string, key: string): Flight['checked'] {
    const { check, onError } = this.#deps
    try {
      const given: unknown = await check(key)
      if (given !== null && given !== undefined) return readCustomer(given)
      this.#remember(digest, 'refused', REFUSED_MS)
      return 'refused'
    } catch (error) {
      // What the vendor's function throws may hold the key.
      const why = error instanceof CustomerError ? error.message : 'it threw or rejected'
      onError(lasting('own_check_failed', `onUnknownKey failed, so the request was refused: ${why}`))
      this.#remember(digest, 'unchecked', AGAIN_MS)
      return 'unchecked'
    }
  }

  async #import(digest: string, customer: Customer, env: 'live' | 'test' | undefined): Promise<Outcome> {
    const { send, onError } = this.#deps
    try {
      const { isActive, faults } = await send(digest, customer, env)
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

/** @param refusal by the keys of the feed */
function refusalOf(outcome: Outcome, refusal: Refused): Refused {
  if (outcome === 'refused') return refusal
  return outcome === 'unchecked' ? unchecked : away
}
