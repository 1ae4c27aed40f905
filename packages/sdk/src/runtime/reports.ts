import { KeyrailError } from './errors.ts'
import { ofNode } from './of-node.ts'

/**
 * Something that somebody may want to know, and that stops nothing: the store's bound was raised, or the disk
 * snapshot could not be used. `disk_unusable`: the node runs without `cacheDir`. `disk_file_refused` and
 * `disk_scope_mismatch`: the file is damaged or of something else, or written for other tenants, and the node starts
 * without it. `disk_write_failed`: the file on the disk is older than it could be.
 */
export interface Notice {
  code: 'cache_raised' | 'disk_unusable' | 'disk_file_refused' | 'disk_scope_mismatch' | 'disk_write_failed'
  message: string
  /** With `cache_raised`: how many keys the store may hold from now on. */
  maxCachedKeys?: number
}

/** Who is told. */
interface Listeners {
  onError: ((error: KeyrailError) => void) | undefined
  onNotice: ((notice: Notice) => void) | undefined
}

/** Where errors and notices go. A listener that throws, at once or later, is warned of and stops nothing. */
export class Reports {
  readonly #listeners: Listeners
  /** Codes warned of since the last good poll: a service that is away for an hour is told once. */
  readonly #warned = new Set<string>()

  constructor(listeners: Listeners) {
    this.#listeners = listeners
  }

  error(error: KeyrailError): void {
    const { onError } = this.#listeners
    if (onError) {
      tell(() => onError(error))
    } else if (!this.#warned.has(error.code)) {
      this.#warned.add(error.code)
      warn(error.message, error.code)
    }
  }

  success(): void {
    this.#warned.clear()
  }

  notice(notice: Notice): void {
    const { onNotice } = this.#listeners
    if (onNotice) tell(() => onNotice(notice))
    else warn(notice.message, notice.code)
  }

  /** The store has been given more room than was asked for. */
  raised(maxCachedKeys: number): void {
    const message = `There are more keys than maxCachedKeys: this node may now hold ${maxCachedKeys}`
    this.notice({ code: 'cache_raised', message, maxCachedKeys })
    // Both channels are told, and one warning is enough where there is neither.
    if (this.#listeners.onError) this.error(new KeyrailError('cache_raised', message, { retryable: false }))
  }
}

/** Calls what the vendor gave, which stops nothing whatever it does. */
export function tell(listener: () => unknown): void {
  const threw = (error: unknown) =>
    warn(
      `a listener of the keyring threw: ${error instanceof Error ? error.message : 'unknown'}`,
      'listener_threw',
    )
  try {
    catchLater(listener(), threw)
  } catch (error) {
    threw(error)
  }
}

/** An async function where a plain one is asked for is a mistake that must not end the process, as a rejection would. */
export function catchLater(said: unknown, caught: (error: unknown) => void): void {
  if (typeof (said as PromiseLike<unknown> | undefined | null)?.then === 'function')
    Promise.resolve(said).catch(caught)
}

/** Told to the vendor: as a warning of the process where there is one. */
export function warn(message: string, code: string): void {
  const warned = ofNode(process => {
    process.emitWarning(message, { type: 'KeyrailWarning', code })
    return true
  })
  if (!warned) console.warn(`[${code}] KeyrailWarning: ${message}`)
}
