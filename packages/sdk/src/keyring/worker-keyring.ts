import { createFeedClient, type FeedClient } from '../feed/client.ts'
import { delayAfterError, REQUEST_TIMEOUT_MS } from '../http/schedule.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { asKeyrailError, PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { makeNodeId } from '../runtime/node-id.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import type { Verdict } from '../verify/verdict.ts'
import type { Requirements } from '../verify/verify.ts'
import { type KeyringOptions, readOptions, type Settings } from './options.ts'
import { openSubscription, type Subscription } from './subscription.ts'

/** Options of a server alone: a worker has no disk, and nothing of it runs on after an answer. */
const ofServers = ['cacheDir', 'onUnknownKey', 'importWith', 'shadow'] as const

/** Options of `createWorkerKeyring`. A worker has no disk, and does nothing after its answer. */
export type WorkerKeyringOptions = Omit<
  KeyringOptions,
  'readyTimeoutMs' | 'cacheDir' | 'onUnknownKey' | 'importWith' | 'shadow'
>

/** What a host of workers passes with a request: `ctx` of Cloudflare, `c.executionCtx` of Hono. */
export interface RequestContext {
  /** Lets work continue after the request was answered. */
  waitUntil(work: Promise<unknown>): void
}

/** A keyring for hosts that run nothing outside of requests. It asks for changes during requests. */
export interface WorkerKeyring {
  /**
   * Await it before `verify` in every request. Does nothing while the keys were confirmed within `pollIntervalMs`. After
   * that, one request asks for changes and waits one second at most. If no keys can be served, every request waits. Never
   * rejects: an error goes to `onError`, and `verify` refuses.
   */
  refresh(context: RequestContext): Promise<void>
  /** Verifies a key: synchronous, in memory, never throws. */
  verify(key: string | null | undefined, requirements?: Requirements): Verdict
}

/** How long a request waits for changes if the keys held can still be served. */
const PATIENCE_MS = 1_000
/** Longer than a host lets work continue after an answer. A poll that is older ended with its request. */
const LOST_MS = 30_000

/**
 * Loads the keys of a project with the first request, and keeps them for later ones.
 *
 * @throws TypeError naming a missing or wrong option
 */
export const createWorkerKeyring = (options: WorkerKeyringOptions = {}): WorkerKeyring =>
  openWorkerKeyring(options, { clock: systemClock, random: Math.random })

interface World {
  clock: Clock
  random: () => number
}

/** `createWorkerKeyring` with the caller's own clock and randomness. */
export function openWorkerKeyring(options: WorkerKeyringOptions, world: World): WorkerKeyring {
  const keys = new WorkerKeys(readSettings(options), world)
  // Functions, not methods: a caller may take one alone, as in `const { verify } = keyring`.
  return {
    refresh: context => keys.refresh(context),
    verify: (key, requirements) => keys.verify(key, requirements),
  }
}

class WorkerKeys implements WorkerKeyring {
  readonly #settings: Settings
  readonly #world: World
  readonly #reports: Reports
  readonly #time: ServiceTime
  #subscription: Subscription
  #polling: { since: number; done: Promise<void> } | undefined
  #failures = 0
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(settings: Settings, world: World) {
    this.#settings = settings
    this.#world = world
    this.#reports = new Reports(settings)
    this.#time = new ServiceTime(world.clock)
    this.#subscription = this.#subscribe()
  }

  async refresh(context: RequestContext): Promise<void> {
    const { cachedTtlMs, pollIntervalMs } = this.#settings
    const now = this.#world.clock.monotonic()
    if (now - confirmedAt(this.#subscription) < pollIntervalMs) return
    const mayServe = now - confirmedAt(this.#subscription) < cachedTtlMs
    if (this.#polling === undefined || now - this.#polling.since >= LOST_MS) {
      if (now < this.#notBefore) return
      const done = this.#begin(now)
      context.waitUntil(done)
      await within(done, mayServe ? PATIENCE_MS : LOST_MS)
    } else if (!mayServe) {
      await within(this.#polling.done, LOST_MS - (now - this.#polling.since))
    }
  }

  verify(key: string | null | undefined, requirements?: Requirements): Verdict {
    return this.#subscription.verify(key, requirements)
  }

  #subscribe(): Subscription {
    return openSubscription({
      settings: this.#settings,
      client: unheld(createFeedClient(this.#settings)),
      clock: this.#world.clock,
      reports: this.#reports,
      time: this.#time,
    })
  }

  /** After a lost poll a new subscription begins, so that the lost poll can no longer change anything. */
  #begin(since: number): Promise<void> {
    const own = this.#polling === undefined ? this.#subscription : this.#subscribe()
    const isLost = () => this.#polling?.done !== done
    const done = this.#poll(own, isLost).finally(() => {
      if (!isLost()) this.#polling = undefined
    })
    this.#polling = { since, done }
    return done
  }

  async #poll(own: Subscription, isLost: () => boolean): Promise<void> {
    try {
      await own.sync.poll(new AbortController().signal)
      // A lost poll may still end, with keys that are older than those of the subscription that replaced its own.
      if (confirmedAt(own) < confirmedAt(this.#subscription)) return
      this.#subscription = own
      this.#failures = 0
      const { store } = own.served
      if (store && store.evictions > 0)
        this.#reports.error(new PolicyScopeTooLargeError({ refusedToStart: false, maxKeys: store.maxKeys }))
      else this.#reports.success()
    } catch (error) {
      if (isLost()) return
      const failure = asKeyrailError(error)
      this.#failures++
      const { retryAfterMs } = failure
      const { lifeMs } = this.#subscription.sync
      const failed = { failures: this.#failures, retryAfterMs, lifeMs }
      const { clock, random } = this.#world
      this.#notBefore = clock.monotonic() + delayAfterError(failed, this.#settings.pollIntervalMs, random)
      this.#reports.error(failure)
    }
  }
}

const confirmedAt = ({ served }: Subscription): number =>
  served.store?.confirmedAt ?? Number.NEGATIVE_INFINITY

/** @throws TypeError naming a missing or wrong option */
function readSettings(options: WorkerKeyringOptions): Settings {
  const given = ofServers.find(name => (options as KeyringOptions | null)?.[name] !== undefined)
  if (given === 'cacheDir') throw new TypeError('createWorkerKeyring takes no cacheDir: a worker has no disk')
  if (given !== undefined) throw new TypeError(`createWorkerKeyring takes no ${given}`)
  // The name is drawn late, because hosts allow no randomness before the first request.
  let drawn: string | undefined
  const settings = readOptions({ ...options, node: options?.node ?? 'worker' })
  return Object.defineProperty(settings, 'node', {
    get: () => {
      drawn ??= options.node ?? makeNodeId('worker')
      return drawn
    },
  })
}

/** Without waiting, because a poll that waits for a change would delay the customer's request. */
const unheld =
  (client: FeedClient): FeedClient =>
  request =>
    client({ ...request, wait: 0, timeoutMs: Math.min(request.timeoutMs, REQUEST_TIMEOUT_MS) })

/** Resolves with the work, or after the time. The timer belongs to the waiting request. */
async function within(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, over]).finally(() => clearTimeout(timer))
}
