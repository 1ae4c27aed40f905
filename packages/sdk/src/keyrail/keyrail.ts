import { type Admin, createAdmin } from '../admin/open.ts'
import { createIdempotency, type Idempotency } from '../idempotency/idempotent.ts'
import { createKeyring, type Keyring } from '../keyring/keyring.ts'
import { createLimiter, type Limiter } from '../limits/limit.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { createUsageReporter, type UsageCloseOptions, type UsageReporter } from '../usage/reporter.ts'
import { type KeyrailOptions, type KeyrailSettings, readKeyrailOptions } from './options.ts'

/** All that protects an API and manages its keys, on one connection; each part is made when it is first used. */
export interface Keyrail extends AsyncDisposable {
  /** Verifies keys, as `createKeyring` does: `requireKey(keyrail.keys)`. */
  readonly keys: Keyring
  /** Charges requests to the limits of their keys, as `createLimiter` does. */
  readonly limiter: Limiter
  /** Lets requests be executed once, as `createIdempotency` does. */
  readonly idempotency: Idempotency
  /** Counts requests by key, as `createUsageReporter` does. */
  readonly usage: UsageReporter
  /** Manages the workspace, as `createAdmin` does. */
  readonly admin: Admin
  /** Resolves when keys are loaded; rejects where `keys.ready()` does. */
  ready(): Promise<void>
  /**
   * Sends what `usage` has counted, then closes all else that was made. From here on each part is an error with the code
   * `closed`. May be called twice. `timeoutMs` bounds the sending.
   */
  close(options?: UsageCloseOptions): Promise<void>
}

type Parts = Pick<Keyrail, 'keys' | 'limiter' | 'idempotency' | 'usage' | 'admin'>

/**
 * Protects an API and manages its keys.
 *
 * @throws TypeError naming the option that is missing or wrong; values of a part's own options are read when it is made
 */
export const createKeyrail = (options: KeyrailOptions = {}): Keyrail =>
  new LazyKeyrail(readKeyrailOptions(options))

/** Its parts are no properties of its own, so that whoever logs it or copies it makes none. */
class LazyKeyrail implements Keyrail {
  readonly #settings: KeyrailSettings
  readonly #made: Partial<Parts> = {}
  #closing: Promise<void> | undefined

  constructor(settings: KeyrailSettings) {
    this.#settings = settings
  }

  get keys(): Keyring {
    return this.#part('keys', ({ keys, ofProject }) => createKeyring({ ...keys, ...ofProject() }))
  }

  get limiter(): Limiter {
    return this.#part('limiter', ({ limiter, ofProject }) => createLimiter({ ...limiter, ...ofProject() }))
  }

  get idempotency(): Idempotency {
    return this.#part('idempotency', ({ idempotency, ofProject }) =>
      createIdempotency({ ...idempotency, ...ofProject() }),
    )
  }

  get usage(): UsageReporter {
    return this.#part('usage', ({ usage, connection }) => createUsageReporter({ ...usage, ...connection }))
  }

  get admin(): Admin {
    return this.#part('admin', ({ admin, connection: { onError: _, ...connection } }) =>
      createAdmin({ ...admin, ...connection }),
    )
  }

  #part<Name extends keyof Parts>(name: Name, make: (settings: KeyrailSettings) => Parts[Name]): Parts[Name] {
    if (this.#closing !== undefined)
      throw new KeyrailError('closed', `keyrail.${name} was used after close()`, { retryable: false })
    const made: { [Each in keyof Parts]?: Parts[Each] } = this.#made
    const part = made[name] ?? make(this.#settings)
    made[name] = part
    return part
  }

  readonly ready = async (): Promise<void> => this.keys.ready()

  readonly close = async (options?: UsageCloseOptions): Promise<void> => {
    this.#closing ??= this.#closeMade(options)
    await this.#closing
  }

  #closeMade(options: UsageCloseOptions | undefined): Promise<void> {
    const { usage, idempotency, keys } = this.#made
    // Throws for what is no time, while nothing is closed.
    const sent = Promise.resolve(usage?.close(options))
    return sent.finally(async () => {
      await Promise.all([idempotency?.close(), keys?.close()])
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
