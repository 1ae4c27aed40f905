import { DiskCache } from '../../packages/sdk/src/disk/cache.ts'
import { createFeedClient } from '../../packages/sdk/src/feed/client.ts'
import { Poller } from '../../packages/sdk/src/feed/poller.ts'
import type { Sync } from '../../packages/sdk/src/feed/sync.ts'
import { readOptions, type Settings } from '../../packages/sdk/src/keyring/options.ts'
import { openSubscription } from '../../packages/sdk/src/keyring/subscription.ts'
import { asKeyrailError, PolicyScopeTooLargeError } from '../../packages/sdk/src/runtime/errors.ts'
import { pause } from '../../packages/sdk/src/runtime/pause.ts'
import { Reports } from '../../packages/sdk/src/runtime/reports.ts'
import { ServiceTime } from '../../packages/sdk/src/runtime/service-time.ts'
import { toWireRateLimits } from '../../packages/sdk/src/store/rate-limits.ts'
import { RefusalCounts } from '../../packages/sdk/src/verify/refusal-counts.ts'
import type { Served, Verify } from '../../packages/sdk/src/verify/verify.ts'
import type { Json } from './case.ts'
import { SdkRoute } from './sdk-route.ts'

/** The fields of `open`. */
export interface Opening {
  url: string
  secret_key: string
  project: string
  env: 'live' | 'test' | 'both'
  wall: number
  uptime: number
  random: number
  tenants?: string[]
  cached_ttl?: number
  poll_interval?: number
  max_keys?: number
  cache_dir?: string
  timeout?: number
}

interface Polled {
  outcome: string
  code?: string
  reports: readonly string[]
  delay: number | null
}

/**
 * A node of the SDK: the parts that `createKeyring` opens, with the clock of the driver, and a poller whose pauses end when the
 * driver says so.
 */
export class SdkNode {
  readonly route: SdkRoute
  readonly #time: { wall: number; uptime: number; monotonic: number }
  readonly #settings: Settings
  readonly #reports: Reports
  readonly #serviceTime: ServiceTime
  readonly #sync: Sync
  readonly #served: Served
  readonly #verify: Verify
  readonly #poller: Poller
  readonly #opened = Promise.withResolvers<void>()
  #disk: DiskCache | undefined
  #said: string[] = []
  #isReady = false
  #isPolling = false
  #last: Pick<Polled, 'outcome' | 'code'> = { outcome: 'error' }
  /** Ends the pause before the next poll. */
  #go = () => {}
  /** Receives the delay after a poll. */
  #polled: (delay: number | null) => void = () => {}

  constructor(opening: Opening) {
    const { wall, uptime, random } = opening
    this.#time = { wall, uptime, monotonic: 0 }
    const clock = { wall: () => this.#time.wall, monotonic: () => this.#time.monotonic }
    this.#settings = settingsOf(opening, code => this.#said.push(code))
    const settings = this.#settings
    this.#reports = new Reports(settings)
    this.#serviceTime = new ServiceTime(clock)
    const counts = new RefusalCounts(settings.scope.projectId, () => this.#serviceTime.now())
    const most = opening.timeout ?? Number.POSITIVE_INFINITY
    const ask = createFeedClient(settings)
    const { served, verify, sync } = openSubscription({
      settings,
      client: request => ask({ ...request, timeoutMs: Math.min(request.timeoutMs, most) }),
      clock,
      reports: this.#reports,
      time: this.#serviceTime,
      counts,
    })
    this.#served = served
    this.#verify = verify
    this.#sync = sync
    this.route = new SdkRoute(verify, {
      connection: connectionOf(opening),
      clock,
      random: () => random,
      mostMs: most,
      reports: this.#reports,
    })
    this.#poller = this.#openPoller(clock, random)
    this.#poller.ready.then(
      () => {
        this.#isReady = true
      },
      () => this.#polled(null),
    )
  }

  /** What the node says about its disk. */
  async opened(): Promise<string[]> {
    await this.#opened.promise
    return this.#said.splice(0)
  }

  get isReady(): boolean {
    return this.#isReady
  }

  async poll(): Promise<Json> {
    this.#said = []
    const delay = await new Promise<number | null>(resolve => {
      this.#polled = resolve
      this.#go()
    })
    return { ...this.#last, reports: this.#said.splice(0), delay }
  }

  advance(milliseconds: number, wall = milliseconds): void {
    this.#time.monotonic += milliseconds
    this.#time.uptime += milliseconds
    this.#time.wall += wall
  }

  verify({ key, scopes, env, ip }: Json): Json {
    const verdict = this.#verify(key as string, {
      ...(scopes !== undefined && { scopes: scopes as string[] }),
      ...(env !== undefined && { env: env as 'live' }),
      ...(ip !== undefined && { ip: ip as string }),
    })
    if (!verdict.valid) return { code: verdict.code }
    const { code, rateLimits } = verdict
    return {
      code,
      key_id: verdict.keyId,
      tenant_id: verdict.tenantId,
      env: verdict.env,
      scopes: verdict.scopes,
      expires_at: verdict.expiresAt,
      limits: rateLimits === undefined ? null : toWireRateLimits(rateLimits),
      external_id: verdict.externalId ?? null,
      meta: verdict.meta ?? null,
    }
  }

  async save(): Promise<void> {
    await this.#disk?.close(this.#sync.kept)
  }

  /** Ends the node without a write to its disk. */
  async drop(): Promise<void> {
    const closed = this.#poller.close()
    // It may wait for its first poll.
    this.#go()
    await closed
    await this.route.close()
  }

  #openPoller(clock: { wall(): number; monotonic(): number }, random: number): Poller {
    const served = this.#served
    const wait = async (milliseconds: number, signal: AbortSignal) => {
      if (this.#isPolling) return await pause(0, signal)
      this.#polled(milliseconds)
      await this.#next(signal)
    }
    const sync = this.#sync
    return new Poller({
      sync: {
        poll: signal => this.#watched(signal),
        get lifeMs() {
          return sync.lifeMs
        },
      },
      clock: { ...clock, pause: wait },
      random: () => random,
      pollIntervalMs: this.#settings.pollIntervalMs,
      begin: () => this.#begin(),
      overflow: () =>
        served.store && served.store.evictions > 0
          ? new PolicyScopeTooLargeError({ refusedToStart: false, maxKeys: served.store.maxKeys })
          : undefined,
      onError: error => this.#reports.error(error),
      onSuccess: () => this.#reports.success(),
    })
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      this.#go = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  async #watched(signal: AbortSignal) {
    this.#isPolling = true
    try {
      const result = await this.#sync.poll(signal)
      this.#last = { outcome: result.outcome }
      return result
    } catch (error) {
      this.#last = { outcome: 'error', code: asKeyrailError(error).code }
      throw error
    } finally {
      this.#isPolling = false
    }
  }

  async #begin(): Promise<boolean> {
    const settings = this.#settings
    const { cacheDir } = settings
    if (cacheDir !== undefined) {
      this.#disk = new DiskCache({
        settings: { ...settings, cacheDir },
        clock: { wall: () => this.#time.wall, monotonic: () => this.#time.monotonic },
        uptimeMs: () => this.#time.uptime,
        serviceTime: monotonic => this.#serviceTime.at(monotonic),
        notice: notice => this.#reports.notice(notice),
      })
    }
    const resumed = await this.#disk?.load()
    if (resumed) this.#sync.resume(resumed)
    const isFresh = resumed?.isFresh ?? false
    if (resumed && isFresh) this.#serviceTime.resume(resumed.serviceNow)
    this.#isReady = isFresh
    const first = this.#next(new AbortController().signal)
    this.#opened.resolve()
    await first
    return isFresh
  }
}

const connectionOf = ({ url, secret_key, project }: Opening) => ({ url, secretKey: secret_key, project })

function settingsOf(opening: Opening, said: (code: string) => void): Settings {
  const { env, tenants, cached_ttl, poll_interval, max_keys, cache_dir } = opening
  return readOptions({
    ...connectionOf(opening),
    env,
    tenantIds: tenants,
    cachedTtlMs: cached_ttl,
    pollIntervalMs: poll_interval,
    ...(max_keys !== undefined && { maxCachedKeys: max_keys, maxAutoCachedKeys: max_keys }),
    cacheDir: cache_dir,
    onError: ({ code }) => said(code),
    onNotice: ({ code }) => {
      if (code.startsWith('disk_')) said(code)
    },
  })
}
