/**
 * The first object that a vendor makes: each part is made when it is first used. `options.ts` reads what all parts
 * share.
 */

import { type Admin, createAdmin } from '../admin/create.ts'
import { createEmbed, type Embed } from '../embed/client.ts'
import { readReports } from '../http/connection-options.ts'
import { createIdempotency, type Idempotency } from '../idempotency/idempotent.ts'
import { type Keyring, type KeyringStats, openKeyring } from '../keyring/keyring.ts'
import { type Limiter, limiterWorld, openLimiter } from '../limits/limit.ts'
import { systemClock } from '../runtime/clock.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import { lasting } from '../runtime/errors.ts'
import type { Reports } from '../runtime/reports.ts'
import { sendRefusals } from '../usage/refusal-reports.ts'
import {
  openUsageReporter,
  type UsageCloseOptions,
  type UsageReporter,
  usageWorld,
} from '../usage/reporter.ts'
import { type KeyrailOptions, type KeyrailSettings, readKeyrailOptions } from './options.ts'
import { type GuardPart, Permissions } from './permissions.ts'

/** For a route such as `/readyz`. Holds no secret. */
export interface KeyrailHealth {
  /** Whether keys can be verified now. */
  ok: boolean
  /** Milliseconds since the service last confirmed the keys; null if it never has. */
  lagMs: number | null
  /** Where the keys come from: `disk` until the service has answered; null before there are any. */
  source: KeyringStats['source']
  /** The error code of the last poll; null if it succeeded. `closed` after `close()`. */
  lastError: KeyrailErrorCode | null
  /** For how many seconds the service may hold its next answer; 0 after a failed poll. */
  holdSeconds: number
}

/** Protects an API and manages its keys, over one connection. Each part is made when it is first used. */
export interface Keyrail extends AsyncDisposable {
  /** Verifies keys, as `createKeyring` does. `requireKey(keyrail)` also charges limits and counts requests. */
  readonly keys: Keyring
  /** Charges requests to the limits of their keys, as `createLimiter` does. */
  readonly limiter: Limiter
  /** Executes requests once, as `createIdempotency` does. */
  readonly idempotency: Idempotency
  /** Counts requests by key, as `createUsageReporter` does. */
  readonly usage: UsageReporter
  /** Manages the workspace, as `createAdmin` does. */
  readonly admin: Admin
  /** Mints embed tokens, as `createEmbed` does: `embedHandler(keyrail.embed, …)`. The secret key needs `embed:mint`. */
  readonly embed: Embed
  /**
   * Resolves when keys are loaded, and rejects when `keys.ready()` does. Asks what the secret key may do, for 1,000 ms at most;
   * what a guard needs and the key may not do goes to `onError` as `insufficient_permission`, at once or when the guard is made.
   */
  ready(): Promise<void>
  /** The state of `keys`. Never throws, also after `close()`. */
  health(): KeyrailHealth
  /**
   * Sends the counts of `usage`, within `timeoutMs`, then closes all parts. After that, using a part throws a
   * `KeyrailError` with the code `closed`. May be called twice.
   */
  close(options?: UsageCloseOptions): Promise<void>
}

type Parts = Pick<Keyrail, 'keys' | 'limiter' | 'idempotency' | 'usage' | 'admin' | 'embed'>

/**
 * Protects an API and manages its keys.
 *
 * @throws TypeError naming a missing or wrong option. A part's own options are checked when it is made
 */
export const createKeyrail = (options: KeyrailOptions = {}): Keyrail =>
  new LazyKeyrail(readKeyrailOptions(options))

/** Its parts are getters of the prototype, so that logging or copying the object makes none. */
class LazyKeyrail implements Keyrail {
  readonly #settings: KeyrailSettings
  readonly #made: Partial<Parts> = {}
  readonly #permissions: Permissions
  /** One for each part, so that a request does not report again what `ready()` has reported. */
  readonly #reports: Readonly<Record<GuardPart, Reports>>
  #closing: Promise<void> | undefined

  constructor(settings: KeyrailSettings) {
    this.#settings = settings
    const { connection } = settings
    this.#permissions = new Permissions(connection)
    this.#reports = { limiter: readReports(connection), usage: readReports(connection) }
  }

  get keys(): Keyring {
    return this.#part('keys', ({ keys, connection, project }) =>
      openKeyring(
        { ...keys, ...connection, project },
        { clock: systemClock, random: Math.random, onCompare: () => this.#reportShadow() },
      ),
    )
  }

  /** A program that compares has no guard which would make the part that reports. Wrong options of that part fail no request. */
  #reportShadow(): void {
    if (this.#closing !== undefined) return
    try {
      void this.usage
    } catch (error) {
      const message = `What compare counts is not reported: ${(error as Error).message}`
      this.#reports.usage.error(lasting('misused', message))
    }
  }

  get limiter(): Limiter {
    return this.#guardPart('limiter', ({ limiter, connection, project }, reports) =>
      openLimiter({ ...limiter, ...connection, project }, { ...limiterWorld(), reports }),
    )
  }

  get idempotency(): Idempotency {
    return this.#part('idempotency', ({ idempotency, connection, project }) =>
      createIdempotency({ ...idempotency, ...connection, project }),
    )
  }

  get usage(): UsageReporter {
    return this.#guardPart('usage', ({ usage, connection }, reports) =>
      openUsageReporter({ ...usage, ...connection }, { ...usageWorld, reports }),
    )
  }

  get admin(): Admin {
    return this.#part('admin', ({ admin, connection: { onError: _, ...connection } }) =>
      createAdmin({ ...admin, ...connection }),
    )
  }

  get embed(): Embed {
    return this.#part('embed', ({ connection, project }) => createEmbed({ ...connection, project }))
  }

  #part<Name extends keyof Parts>(name: Name, make: (settings: KeyrailSettings) => Parts[Name]): Parts[Name] {
    if (this.#closing !== undefined) throw lasting('closed', `keyrail.${name} was used after close()`)
    const made: { [Each in keyof Parts]?: Parts[Each] } = this.#made
    const part = made[name] ?? make(this.#settings)
    made[name] = part
    const { keys, usage } = this.#made
    if (keys && usage) sendRefusals(usage, keys)
    return part
  }

  #guardPart<Name extends GuardPart>(
    name: Name,
    make: (settings: KeyrailSettings, reports: Reports) => Parts[Name],
  ): Parts[Name] {
    const isNew = this.#made[name] === undefined
    const part = this.#part(name, settings => make(settings, this.#reports[name]))
    if (isNew) this.#sayLacking(name)
    return part
  }

  /** Only about a part in use: a secret key need not be able to do more. */
  #sayLacking(part: GuardPart): void {
    const error = this.#permissions.lacking(part)
    if (error !== undefined && this.#made[part] !== undefined) this.#reports[part].error(error)
  }

  readonly ready = async (): Promise<void> => {
    await this.keys.ready()
    const reported = this.#permissions.ask().then(() => {
      for (const part of ['limiter', 'usage'] as const) this.#sayLacking(part)
    })
    // Keys of the disk are served although the service may be away.
    if (this.keys.stats().source === 'service') await reported
  }

  readonly health = (): KeyrailHealth => {
    if (this.#closing !== undefined)
      return { ok: false, lagMs: null, source: null, lastError: 'closed', holdSeconds: 0 }
    const { serving, confirmedAgeMs, source, lastError, holdSeconds } = this.keys.stats()
    return { ok: serving, lagMs: confirmedAgeMs, source, lastError, holdSeconds }
  }

  readonly close = async (options?: UsageCloseOptions): Promise<void> => {
    this.#closing ??= this.#closeMade(options)
    await this.#closing
  }

  #closeMade(options: UsageCloseOptions | undefined): Promise<void> {
    const { usage, idempotency, keys } = this.#made
    // Throws for an invalid time before anything is closed.
    const sent = Promise.resolve(usage?.close(options))
    return sent.finally(async () => {
      await Promise.all([idempotency?.close(), keys?.close()])
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
