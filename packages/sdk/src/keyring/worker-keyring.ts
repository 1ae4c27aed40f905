import { createFeedClient, type FeedClient } from '../feed/client.ts'
import { Sync } from '../feed/sync.ts'
import { delayAfterError, REQUEST_TIMEOUT_MS } from '../http/schedule.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { asKeyrailError, PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { makeNodeId } from '../runtime/node-id.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import type { Verdict } from '../verify/verdict.ts'
import { createVerify, type Requirements, type Served, type Verify } from '../verify/verify.ts'
import { type KeyringOptions, readOptions, type Settings } from './options.ts'

/** Options of `createWorkerKeyring`. A worker has no disk. */
export type WorkerKeyringOptions = Omit<KeyringOptions, 'cacheDir' | 'readyTimeoutMs'>

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

/** A sequence of polls, and the keys that they brought. */
interface Line {
  sync: Sync
  served: Served
  verify: Verify
}

/**
 * Loads the keys of a project with the first request, and keeps them for later ones.
 *
 * @throws TypeError naming a missing or wrong option
 */
export const createWorkerKeyring = (options: WorkerKeyringOptions = {}): WorkerKeyring =>
  openWorkerKeyring(options, { clock: systemClock, random: Math.random })

/** `createWorkerKeyring` with the caller's own clock and randomness. */
export function openWorkerKeyring(
  options: WorkerKeyringOptions,
  { clock, random }: { clock: Clock; random: () => number },
): WorkerKeyring {
  const settings = readSettings(options)
  const { cachedTtlMs, pollIntervalMs } = settings
  const reports = new Reports(settings)
  const time = new ServiceTime(clock)
  let line = openLine()
  let polling: { since: number; done: Promise<void> } | undefined
  let failures = 0
  let notBefore = Number.NEGATIVE_INFINITY

  function openLine(): Line {
    const served: Served = { store: undefined, hits: 0, misses: 0, evictions: 0 }
    const verify = createVerify(served, {
      env: settings.env,
      cachedTtlMs,
      clock: { wall: monotonic => time.now(monotonic), monotonic: () => clock.monotonic() },
      onUnavailable: settings.onUnavailable,
    })
    const sync = new Sync({
      client: unheld(createFeedClient(settings)),
      clock,
      settings,
      served,
      onRaised: maxKeys => reports.raised(maxKeys, settings),
      onHeld: (keys, most) => reports.holds(keys, most),
      onOdd: error => reports.error(error),
      onUnlabelled: () => reports.unlabelled(),
      onTime: times => time.answered(times),
    })
    return { sync, served, verify }
  }

  const confirmedAt = ({ served } = line) => served.store?.confirmedAt ?? Number.NEGATIVE_INFINITY

  async function poll(own: Line, isLost: () => boolean): Promise<void> {
    try {
      await own.sync.poll(new AbortController().signal)
      // A lost poll may still end, with keys that are older than those of the line that replaced it.
      if (confirmedAt(own) < confirmedAt()) return
      line = own
      failures = 0
      const { store } = own.served
      if (store && store.evictions > 0)
        reports.error(new PolicyScopeTooLargeError({ refusedToStart: false, maxKeys: store.maxKeys }))
      else reports.success()
    } catch (error) {
      if (isLost()) return
      const failure = asKeyrailError(error)
      failures++
      const { retryAfterMs } = failure
      const { lifeMs } = line.sync
      const failed = { failures, retryAfterMs, lifeMs }
      notBefore = clock.monotonic() + delayAfterError(failed, pollIntervalMs, random)
      reports.error(failure)
    }
  }

  /** After a lost poll a new line begins, so that the lost one can no longer change anything. */
  function begin(since: number): Promise<void> {
    const own = polling === undefined ? line : openLine()
    const isLost = () => polling?.done !== done
    const done = poll(own, isLost).finally(() => {
      if (!isLost()) polling = undefined
    })
    polling = { since, done }
    return done
  }

  return {
    async refresh(context) {
      const now = clock.monotonic()
      if (now - confirmedAt() < pollIntervalMs) return
      const mayServe = now - confirmedAt() < cachedTtlMs
      if (polling === undefined || now - polling.since >= LOST_MS) {
        if (now < notBefore) return
        const done = begin(now)
        context.waitUntil(done)
        await within(done, mayServe ? PATIENCE_MS : LOST_MS)
      } else if (!mayServe) {
        await within(polling.done, LOST_MS - (now - polling.since))
      }
    },
    verify: (key, requirements) => line.verify(key, requirements),
  }
}

/** @throws TypeError naming a missing or wrong option */
function readSettings(options: WorkerKeyringOptions): Settings {
  if ((options as KeyringOptions | null)?.cacheDir !== undefined)
    throw new TypeError('createWorkerKeyring takes no cacheDir: a worker has no disk')
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
