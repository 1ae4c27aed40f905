import { hostname } from 'node:os'
import type { DiskCache, DiskCacheDeps } from '../disk/cache.ts'
import { createFeedClient } from '../feed/client.ts'
import { Poller } from '../feed/poller.ts'
import { Sync } from '../feed/sync.ts'
import { openAwakeClock } from '../runtime/awake-clock.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import { PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import type { Verdict } from '../verify/verdict.ts'
import { createVerify, type Requirements, type Served, type Verify } from '../verify/verify.ts'
import { type KeyringOptions, readOptions, type Settings } from './options.ts'

/** What a keyring does and has done, for logs and metrics. Nothing in it is secret. */
export interface KeyringStats {
  /** Whether keys can be verified now: loaded, and confirmed recently enough. */
  serving: boolean
  node: string
  /** Version of the policy that is served; null before the first snapshot. */
  version: number | null
  /** Keys held, and how many may be. */
  keys: number
  maxCachedKeys: number
  /** Whether every key of project and environment is held: not narrowed to tenants, nothing dropped for room. */
  complete: boolean
  /** Milliseconds since the service last confirmed what is served; null where it has not. */
  confirmedAgeMs: number | null
  /** Look-ups that found a key, and that did not. What is refused by its form is not looked up. */
  hits: number
  misses: number
  /** Keys dropped for want of room. */
  evictions: number
  /** Evictions by look-ups; 0 before the first look-up. */
  evictionRate: number
  /** Polls by what came of them. */
  polls: { snapshot: number; delta: number; unchanged: number; error: number }
  /** Code of the error of the last poll; null where it went well. */
  lastError: KeyrailErrorCode | null
}

/** The keys of a project, held in memory; made by `createKeyring`. */
export interface Keyring extends AsyncDisposable {
  /**
   * Resolves when keys are loaded. Rejects with a `KeyrailError` when they never will be without a change: a wrong
   * secret, an unknown project, too many keys, or `close()`. While the service is merely away it waits.
   */
  ready(): Promise<void>
  /** Judges a key: synchronous, in memory, never throws. */
  verify(key: string | null | undefined, requirements?: Requirements): Verdict
  /** What it holds and has done until now. */
  stats(): KeyringStats
  /** Stops polling and forgets all keys; every key is refused from here on. May be called twice. */
  close(): Promise<void>
}

/**
 * Loads the keys of a project and keeps them current, so that each can be verified in memory.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export function createKeyring(options: KeyringOptions = {}): Keyring {
  return openKeyring(options, { clock: systemClock, random: Math.random })
}

/** The same in a world of the caller's making. */
export function openKeyring(
  options: KeyringOptions,
  world: { clock: Clock; random: () => number; uptimeMs?: () => number; diskMaxMs?: number },
): Keyring {
  const settings = readOptions(options, nameOfHost())
  const { random, uptimeMs, diskMaxMs } = world
  const clock = openAwakeClock(world.clock, uptimeMs)
  const { cachedTtlMs, maxCachedKeys, node, scope, pollIntervalMs } = settings
  const reports = new Reports(settings)
  const served: Served = { store: undefined, hits: 0, misses: 0, evictions: 0 }
  const time = new ServiceTime(clock)
  const verify: Verify = createVerify(served, {
    env: settings.env,
    cachedTtlMs,
    clock: { wall: monotonic => time.now(monotonic), monotonic: () => clock.monotonic() },
    onUnavailable: settings.onUnavailable,
  })
  const sync = new Sync({
    client: createFeedClient(settings),
    clock,
    settings,
    served,
    onRaised: maxKeys => reports.raised(maxKeys),
    onOdd: error => reports.error(error),
    onTime: told => time.answered(told),
  })
  let disk: DiskCache | undefined
  const begin = async () => {
    disk = await openDiskCache(settings, {
      clock,
      uptimeMs,
      diskMaxMs,
      serviceTime: monotonic => time.at(monotonic),
      notice: notice => reports.notice(notice),
    })
    const resumed = await disk?.load()
    if (resumed) sync.resume(resumed)
    if (resumed?.isFresh) time.resume(resumed.serviceNow)
    return resumed?.isFresh ?? false
  }
  const poller = new Poller({
    sync,
    clock,
    random,
    pollIntervalMs,
    begin,
    overflow: () =>
      served.store && served.store.evictions > 0
        ? new PolicyScopeTooLargeError({ refusedToStart: false, maxKeys: served.store.maxKeys })
        : undefined,
    onError: error => reports.error(error),
    onSuccess: () => reports.success(),
    onPolled: () => {
      if (sync.kept) disk?.keep(sync.kept)
    },
  })
  // A keyring that never begins leaves nothing that runs.
  poller.ready.catch(() => clock.close())
  const close = async () => {
    await poller.close()
    await disk?.close(sync.kept)
    clock.close()
    served.store = undefined
  }

  return {
    ready: () => poller.ready,
    verify,
    stats() {
      const { store, hits, misses } = served
      const evictions = served.evictions + (store?.evictions ?? 0)
      const isConfirmed = store !== undefined && Number.isFinite(store.confirmedAt)
      const ageMs = isConfirmed ? clock.monotonic() - store.confirmedAt : null
      return {
        serving: ageMs !== null && ageMs < cachedTtlMs,
        node,
        version: sync.version ?? null,
        keys: store?.size ?? 0,
        maxCachedKeys: store?.maxKeys ?? maxCachedKeys,
        complete:
          store !== undefined && store.evictions === 0 && !served.isPartial && scope.tenantIds.length === 0,
        confirmedAgeMs: ageMs,
        hits,
        misses,
        evictions,
        evictionRate: hits + misses === 0 ? 0 : evictions / (hits + misses),
        polls: { ...poller.outcomes },
        lastError: poller.lastError?.code ?? null,
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Deno tells it only where that is allowed. */
function nameOfHost(): string | undefined {
  try {
    return hostname()
  } catch {
    return undefined
  }
}

/** Loaded only where it is asked for, so that the rest runs where there is no disk. */
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
