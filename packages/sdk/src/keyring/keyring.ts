/**
 * Holds the keys of a project on a server; `worker-keyring.ts` does so in a worker, and `options.ts` reads what both
 * take.
 */

import { hostname } from 'node:os'
import type { DiskCache, DiskCacheDeps } from '../disk/cache.ts'
import { createFeedClient, type FeedClient } from '../feed/client.ts'
import { leave } from '../feed/leave.ts'
import { Poller } from '../feed/poller.ts'
import type { Sync } from '../feed/sync.ts'
import { openAwakeClock } from '../runtime/awake-clock.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import { PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import { withGateParts } from '../verify/gate-parts.ts'
import { countedBy, RefusalCounts } from '../verify/refusal-counts.ts'
import { Shadow, type ShadowStats } from '../verify/shadow.ts'
import type { Verdict } from '../verify/verdict.ts'
import type { Requirements, Served, Verify } from '../verify/verify.ts'
import { type KeyringOptions, readOptions, type Settings } from './options.ts'
import { readyWithin } from './ready-within.ts'
import { openSubscription } from './subscription.ts'

/** The state and counters of a keyring, for logs and metrics. Holds no secret. */
export interface KeyringStats {
  /** Whether keys can be verified now: loaded, and confirmed recently enough. */
  serving: boolean
  project: string
  env: 'live' | 'test' | 'both'
  node: string
  /** The served policy version; null before the first snapshot. */
  version: number | null
  /** Keys held, and the current limit. */
  keys: number
  maxCachedKeys: number
  /** True: every key of the project and environment is held. False with `tenantIds`, or after keys were dropped for lack of memory. */
  complete: boolean
  /** Milliseconds since the service last confirmed the keys; null if it never has. */
  confirmedAgeMs: number | null
  /** Look-ups that found a key, and those that did not. A malformed key is not looked up. */
  hits: number
  misses: number
  /** Keys dropped for lack of memory. */
  evictions: number
  /** Evictions per look-up; 0 before the first look-up. */
  evictionRate: number
  /** Polls by outcome. */
  polls: { snapshot: number; delta: number; unchanged: number; error: number }
  /** The error code of the last poll; null if it succeeded. */
  lastError: KeyrailErrorCode | null
  /** Where the served keys come from: `disk` until the service has answered; null before there are any. */
  source: 'service' | 'disk' | null
  /** For how many seconds the service may hold its next answer; 0 after a failed poll. */
  holdSeconds: number
  /** Where an old check and the keyring disagree, by `compare`. Absent before its first call, unless the option `shadow` is set. */
  shadow?: ShadowStats
}

/** The keys of a project, held in memory; made by `createKeyring`. */
export interface Keyring extends AsyncDisposable {
  /**
   * Resolves when keys are loaded. Rejects with a `KeyrailError` when retrying is useless: a wrong secret, an unknown
   * project, too many keys, or `close()`; and with `ready_timeout` after `readyTimeoutMs`, if that is given. Waits while the
   * service is not reachable.
   */
  ready(): Promise<void>
  /** Verifies a key: synchronous, in memory, never throws. */
  verify(key: string | null | undefined, requirements?: Requirements): Verdict
  /**
   * Verifies a key and counts whether an old check came to the same result: in `stats().shadow`, and for the reports of `usage`, in which
   * it is no refusal.
   *
   * @param accepted the result of the old check
   */
  compare(key: string | null | undefined, accepted: boolean, requirements?: Requirements): Verdict
  /** The current state and counters. */
  stats(): KeyringStats
  /**
   * Stops polling and drops all keys; every key is refused from then on. Without `cacheDir` and `node` it also tells the service,
   * so that no change waits for this node. May be called twice.
   */
  close(): Promise<void>
}

/**
 * Loads the keys of a project and keeps them current, so that each can be verified in memory.
 *
 * @throws TypeError naming a missing or wrong option
 */
export function createKeyring(options: KeyringOptions = {}): Keyring {
  return openKeyring(options, { clock: systemClock, random: Math.random })
}

interface World {
  clock: Clock
  random: () => number
  uptimeMs?: () => number
  diskMaxMs?: number
  /** Called before the first `compare` returns. */
  onCompare?: () => void
}

/** `createKeyring` with the caller's own clock and randomness. */
export function openKeyring(options: KeyringOptions, world: World): Keyring {
  const held = new HeldKeys(readOptions(options, nameOfHost()), world)
  const close = () => held.close()
  // Functions, not methods: a caller may take one alone, as in `process.once('SIGTERM', keyring.close)`.
  return {
    ready: () => held.ready(),
    verify: held.verify,
    compare: (key, accepted, requirements) => held.compare(key, accepted, requirements),
    stats: () => held.stats(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

class HeldKeys {
  readonly verify: Verify
  readonly #settings: Settings
  readonly #world: World
  readonly #clock: ReturnType<typeof openAwakeClock>
  readonly #reports: Reports
  readonly #time: ServiceTime
  readonly #counts: RefusalCounts
  readonly #client: FeedClient
  readonly #served: Served
  readonly #sync: Sync
  readonly #poller: Poller
  readonly #shadow = new Shadow()
  #hasCompared = false
  #left: Promise<void> | undefined
  #disk: DiskCache | undefined
  #source: KeyringStats['source'] = null

  constructor(settings: Settings, world: World) {
    const clock = openAwakeClock(world.clock, world.uptimeMs)
    const reports = new Reports(settings)
    const time = new ServiceTime(clock)
    const now = () => time.now(clock.monotonic())
    const counts = new RefusalCounts(settings.scope.projectId, now, settings.env, settings.isShadow)
    const client = createFeedClient(settings)
    const { served, verify, sync, unknownKeys } = openSubscription({
      settings,
      client,
      clock,
      reports,
      time,
      counts,
    })
    const shadow = settings.isShadow ? this.#shadow : undefined
    this.verify = withGateParts(verify, { shadow, unknownKeys })
    this.#settings = settings
    this.#world = world
    this.#clock = clock
    this.#reports = reports
    this.#time = time
    this.#counts = counts
    this.#client = client
    this.#served = served
    this.#sync = sync
    this.#poller = this.#openPoller()
    // A keyring that fails to start leaves nothing running.
    this.#poller.ready.catch(() => clock.close())
  }

  ready(): Promise<void> {
    return readyWithin(this.#settings.readyTimeoutMs, this.#poller, this.#clock)
  }

  compare(key: string | null | undefined, accepted: boolean, requirements?: Requirements): Verdict {
    const verdict = (countedBy(this.verify)?.judge ?? this.verify)(key, requirements)
    if (!this.#hasCompared) {
      this.#hasCompared = true
      this.#world.onCompare?.()
    }
    this.#shadow.compare(verdict, accepted)
    this.#counts.compare(verdict, accepted, typeof key === 'string' ? key : undefined)
    return verdict
  }

  stats(): KeyringStats {
    const { cachedTtlMs, maxCachedKeys, node, scope } = this.#settings
    const served = this.#served
    const { store, hits, misses } = served
    const evictions = served.evictions + (store?.evictions ?? 0)
    const isConfirmed = store !== undefined && Number.isFinite(store.confirmedAt)
    const ageMs = isConfirmed ? this.#clock.monotonic() - store.confirmedAt : null
    return {
      serving: ageMs !== null && ageMs < cachedTtlMs,
      project: scope.projectId,
      env: scope.env,
      node,
      version: this.#sync.version ?? null,
      keys: store?.size ?? 0,
      maxCachedKeys: store?.maxKeys ?? maxCachedKeys,
      complete:
        store !== undefined && store.evictions === 0 && !served.isPartial && scope.tenantIds.length === 0,
      confirmedAgeMs: ageMs,
      hits,
      misses,
      evictions,
      evictionRate: hits + misses === 0 ? 0 : evictions / (hits + misses),
      polls: { ...this.#poller.outcomes },
      lastError: this.#poller.lastError?.code ?? null,
      source: store === undefined ? null : this.#source,
      holdSeconds: this.#sync.holdSeconds,
      ...((this.#hasCompared || this.#settings.isShadow) && { shadow: this.#shadow.stats }),
    }
  }

  async close(): Promise<void> {
    await this.#poller.close()
    await this.#disk?.close(this.#sync.kept)
    this.#clock.close()
    this.#served.isClosed = true
    this.#served.store = undefined
    this.#counts.isOver = true
    await this.#leave()
  }

  async #leave(): Promise<void> {
    if (!this.#settings.tellsEnd || this.#source === null) return
    this.#left ??= leave(this.#client, this.#settings, this.#sync.version ?? 0)
    await this.#left
  }

  #openPoller(): Poller {
    const served = this.#served
    return new Poller({
      sync: this.#sync,
      clock: this.#clock,
      random: this.#world.random,
      pollIntervalMs: this.#settings.pollIntervalMs,
      begin: () => this.#begin(),
      overflow: () =>
        served.store && served.store.evictions > 0
          ? new PolicyScopeTooLargeError({ refusedToStart: false, maxKeys: served.store.maxKeys })
          : undefined,
      onError: error => this.#reports.error(error),
      onSuccess: () => this.#reports.success(),
      onPolled: () => {
        this.#source = 'service'
        if (this.#sync.kept) this.#disk?.keep(this.#sync.kept)
      },
    })
  }

  async #begin(): Promise<boolean> {
    const { uptimeMs, diskMaxMs } = this.#world
    this.#disk = await openDiskCache(this.#settings, {
      clock: this.#clock,
      uptimeMs,
      diskMaxMs,
      serviceTime: monotonic => this.#time.at(monotonic),
      notice: notice => this.#reports.notice(notice),
    })
    const resumed = await this.#disk?.load()
    if (resumed) {
      this.#sync.resume(resumed)
      this.#source = 'disk'
    }
    if (resumed?.isFresh) this.#time.resume(resumed.serviceNow)
    return resumed?.isFresh ?? false
  }
}

/** Undefined where Deno has no permission to read the host name. */
function nameOfHost(): string | undefined {
  try {
    return hostname()
  } catch {
    return undefined
  }
}

/** Imports the disk only if needed, so that a keyring runs without one. */
async function openDiskCache(
  settings: Settings,
  deps: Omit<DiskCacheDeps, 'settings'>,
): Promise<DiskCache | undefined> {
  const { cacheDir } = settings
  if (cacheDir === undefined) return undefined
  try {
    const { DiskCache } = await import('../disk/cache.ts')
    return new DiskCache({ settings: { ...settings, cacheDir }, ...deps })
  } catch {
    deps.notice({ code: 'disk_unusable', message: 'cacheDir is not used: this runtime has no disk' })
    return undefined
  }
}
