import type { Clock } from '../runtime/clock.ts'
import { digestOf } from '../runtime/digest.ts'
import { asKeyrailError, type KeyrailError, lasting } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import type { AsksVendor } from '../verify/gate-parts.ts'
import { type Refused, refused, type Verdict } from '../verify/verdict.ts'
import { hasAllOf, type Requirements, refusalAt, type Served } from '../verify/verify.ts'
import { type Customer, CustomerError, type OnUnknownKey, readCustomer } from './imported-customer.ts'

/** Checks at once. Each may take a processor for a while, as bcrypt does. */
const CHECKS_MAX = 64
/** A request waits so long for its check. */
const CHECK_MS = 5_000
/** A check that has not ended after this time never will, and makes room. */
const LOST_MS = 60_000
const REFUSED_MS = 60_000
const KNOWN_MS = 600_000
const DIGESTS_MAX = 10_000
/** Between an import that failed and the next attempt. */
const AGAIN_MS = 10_000

const busy: Refused = Object.freeze({
  valid: false,
  code: 'not_held',
  message: 'The API key is not held here, and too many such keys are being checked at once',
})

interface UnknownKeysDeps {
  check: OnUnknownKey
  /** Imports one key. */
  send: (digest: string, customer: Customer) => Promise<unknown>
  /** Its wall clock is that of the service. */
  clock: Pick<Clock, 'monotonic' | 'pause'> & { wall(monotonic: number): number }
  served: Served
  cachedTtlMs: number
  env: 'live' | 'test'
  onError: (error: KeyrailError) => void
}

interface Known {
  customer: Customer
  until: number
  /** When the import may be sent; infinite while it is under way, and once it is done. */
  sendsAt: number
}

/**
 * Asks the vendor's own check about keys that the feed does not have, and imports those that it accepts. Bounded in checks, and
 * in what it remembers.
 */
export class UnknownKeys implements AsksVendor {
  readonly #deps: UnknownKeysDeps
  /** By digest, oldest first. */
  readonly #known = new Map<string, Known>()
  /** Until when a digest is refused without a check, oldest first. */
  readonly #refused = new Map<string, number>()
  readonly #running = new Map<string, { beganAt: number; answer: Promise<Customer | undefined> }>()

  constructor(deps: UnknownKeysDeps) {
    this.#deps = deps
  }

  async ask(key: string, requirements: Requirements, refusal: Refused): Promise<Verdict> {
    const { clock, served, cachedTtlMs } = this.#deps
    const now = clock.monotonic()
    // Without confirmed keys nobody knows whether the key was imported, and ended since.
    if (served.store === undefined) return refused.not_ready
    if (!(served.store.confirmedAt > now - cachedTtlMs)) return refused.stale
    const digest = digestOf(key)
    const known = this.#known.get(digest)
    if (known !== undefined && now < known.until) {
      this.#import(digest, known)
      return this.#judge(known.customer, requirements)
    }
    if (now < (this.#refused.get(digest) ?? Number.NEGATIVE_INFINITY)) return refusal
    const answer = this.#checkOnce(digest, key, requirements)
    if (answer === undefined) return busy
    const customer = await this.#within(answer)
    return customer === undefined ? refusal : this.#judge(customer, requirements)
  }

  /** Forgets the keys that the feed has by now: it says when they end. */
  sweep(): void {
    const { store } = this.#deps.served
    if (store === undefined || this.#known.size === 0) return
    for (const digest of this.#known.keys()) if (store.find(digest) !== -1) this.#known.delete(digest)
  }

  /** One check for all requests with this key. Undefined: there are too many checks. */
  #checkOnce(
    digest: string,
    key: string,
    requirements: Requirements,
  ): Promise<Customer | undefined> | undefined {
    const now = this.#deps.clock.monotonic()
    for (const [each, { beganAt }] of this.#running) {
      if (now - beganAt < LOST_MS) break
      this.#running.delete(each)
    }
    const before = this.#running.get(digest)
    if (before !== undefined) return before.answer
    if (this.#running.size >= CHECKS_MAX) return undefined
    const running = { beganAt: now, answer: this.#check(digest, key, requirements) }
    this.#running.set(digest, running)
    running.answer.finally(() => {
      if (this.#running.get(digest) === running) this.#running.delete(digest)
    })
    return running.answer
  }

  /** Never rejects. */
  async #check(digest: string, key: string, requirements: Requirements): Promise<Customer | undefined> {
    const { check, clock, onError } = this.#deps
    let customer: Customer
    try {
      const given: unknown = await check(key, requirements)
      if (given === null || given === undefined) {
        remember(this.#refused, digest, clock.monotonic() + REFUSED_MS)
        return undefined
      }
      customer = readCustomer(given)
    } catch (error) {
      // What the vendor's function throws may hold the key.
      const why = error instanceof CustomerError ? error.message : 'it threw or rejected'
      onError(lasting('own_check_failed', `onUnknownKey failed, so the request was refused: ${why}`))
      return undefined
    }
    const known = { customer, until: clock.monotonic() + KNOWN_MS, sendsAt: 0 }
    remember(this.#known, digest, known)
    this.#import(digest, known)
    return customer
  }

  /** In the background: the request does not wait for it. */
  #import(digest: string, known: Known): void {
    const { clock, send, onError } = this.#deps
    if (known.sendsAt > clock.monotonic()) return
    known.sendsAt = Number.POSITIVE_INFINITY
    send(digest, known.customer).catch(thrown => {
      const error = asKeyrailError(thrown)
      known.sendsAt = clock.monotonic() + AGAIN_MS
      onError(error)
    })
  }

  async #within(answer: Promise<Customer | undefined>): Promise<Customer | undefined> {
    const { pause: wait = pause } = this.#deps.clock
    const over = new AbortController()
    const timed = wait(CHECK_MS, over.signal).then(() => undefined)
    return await Promise.race([answer, timed]).finally(() => over.abort())
  }

  /** What the service would say of the key, as far as a node knows. */
  #judge(customer: Customer, requirements: Requirements): Verdict {
    const { clock, served, env } = this.#deps
    const { tenantId, externalId, name, scopes, meta, expiresAt } = customer
    if (requirements.env !== undefined && requirements.env !== 'both' && requirements.env !== env)
      return refused.wrong_env
    if (tenantId !== undefined && served.store?.suspended.has(tenantId)) return refused.suspended_tenant
    if (expiresAt !== null && !(clock.wall(clock.monotonic()) < expiresAt)) return refused.expired_key
    const networks = tenantId === undefined ? undefined : served.store?.tenantNetworks.get(tenantId)
    const away = networks && refusalAt(networks, requirements)
    if (away !== undefined) return away
    if (!hasAllOf(scopes, requirements)) return refused.insufficient_scope
    return {
      valid: true,
      code: 'valid',
      keyId: '',
      // Never that of another customer, because replays are kept by it.
      tenantId: tenantId ?? `external:${externalId}`,
      env,
      scopes,
      expiresAt,
      ...(externalId !== undefined && { externalId }),
      ...(name !== undefined && { keyName: name }),
      ...(meta !== undefined && { meta }),
    }
  }
}

/** Drops the oldest beyond the bound. */
function remember<T>(map: Map<string, T>, digest: string, value: T): void {
  map.delete(digest)
  map.set(digest, value)
  if (map.size <= DIGESTS_MAX) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
