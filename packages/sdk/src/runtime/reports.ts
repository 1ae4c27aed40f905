import { type KeyrailError, lasting } from './errors.ts'
import { ofNode } from './of-node.ts'

/**
 * A condition that does not stop the keyring. `cache_raised`: the store's limit was raised. `disk_unusable`: the node runs
 * without `cacheDir`. `nearly_full`: it holds 80 % of the keys that it may hold. `disk_file_refused`, `disk_scope_mismatch`: the node starts without its file, which is damaged or
 * foreign, or was written for other tenants. `disk_write_failed`: the file on the disk is older than it should be.
 * `labels_left_out`: the feed has no names, and no `meta` of tenants, though the options ask for them.
 */
export interface Notice {
  code:
    | 'cache_raised'
    | 'disk_unusable'
    | 'disk_file_refused'
    | 'disk_scope_mismatch'
    | 'disk_write_failed'
    | 'labels_left_out'
    | 'nearly_full'
  message: string
  /** With `cache_raised`: the new limit of the store, in keys. */
  maxCachedKeys?: number
}

/** The vendor's listeners. */
interface Listeners {
  onError: ((error: KeyrailError) => void) | undefined
  onNotice: ((notice: Notice) => void) | undefined
}

/** From here on a node reports that it is nearly full: early enough to act before keys are refused. */
const FULL_SHARE = 0.8

/** Passes errors and notices to the listeners. A listener that throws or rejects is reported as a warning. */
export class Reports {
  readonly #listeners: Listeners
  /** Codes already reported: an outage of an hour is reported once. A code that a whole success came without is forgotten. */
  #warned = new Set<string>()
  /** The codes since the last success: an answer may be applied and have an error nevertheless, poll after poll. */
  #recent = new Set<string>()
  #isUnlabelled = false
  #isLacking = false
  #isNearlyFull = false
  /** One call may be about many requests, each of which meets its error. */
  #last: KeyrailError | undefined

  constructor(listeners: Listeners) {
    this.#listeners = listeners
  }

  error(error: KeyrailError): void {
    if (error === this.#last) return
    this.#last = error
    const { onError } = this.#listeners
    const { code, message } = error
    // Lasts until somebody changes it, and every request may meet it.
    if (code === 'insufficient_permission') {
      if (this.#isLacking) return
      this.#isLacking = true
    }
    if (onError) {
      callListener(() => onError(error))
      return
    }
    this.#recent.add(code)
    if (this.#warned.has(code)) return
    this.#warned.add(code)
    warn(message, code)
  }

  success(): void {
    this.#isLacking = false
    this.#warned = this.#recent
    this.#recent = new Set()
  }

  notice(notice: Notice): void {
    const { onNotice } = this.#listeners
    if (onNotice) callListener(() => onNotice(notice))
    else warn(notice.message, notice.code)
  }

  /** A worker subscribes anew after a lost poll; the same notice is still reported once. */
  unlabelled(): void {
    if (this.#isUnlabelled) return
    this.#isUnlabelled = true
    this.notice({
      code: 'labels_left_out',
      message:
        'The feed leaves out names, and the meta of tenants: the secret key lacks the permission policy:labels. Verdicts are without them',
    })
  }

  /** The store's limit was raised, as one that follows the memory is meant to be. */
  raised(maxCachedKeys: number, { keyMemory }: { keyMemory?: number | undefined }): void {
    if (keyMemory !== undefined) return
    const message = `There are more keys than maxCachedKeys: this node may now hold ${maxCachedKeys}`
    this.notice({ code: 'cache_raised', message, maxCachedKeys })
    this.#toBoth(lasting('cache_raised', message))
  }

  /** How many keys a node holds after a poll, of those that it may hold. */
  holds(keys: number, most: number): void {
    const isNearlyFull = keys >= most * FULL_SHARE
    if (isNearlyFull && !this.#isNearlyFull) {
      const message =
        `This node holds ${keys} keys of the ${most} that it may hold. Beyond these it refuses keys as not_held, and a new ` +
        "process does not start. Set maxAutoCachedKeys to 'memory', or raise it"
      this.notice({ code: 'nearly_full', message })
      this.#toBoth(lasting('nearly_full', message))
    }
    this.#isNearlyFull = isNearlyFull
  }

  /** A notice goes to both listeners. Without any, one warning is enough. */
  #toBoth(error: KeyrailError): void {
    if (this.#listeners.onError) this.error(error)
  }
}

/** Calls the vendor's listener and survives whatever it does. */
export function callListener(listener: () => unknown): void {
  const threw = (error: unknown) =>
    warn(`a listener threw: ${error instanceof Error ? error.message : 'unknown'}`, 'listener_threw')
  try {
    catchLater(listener(), threw)
  } catch (error) {
    threw(error)
  }
}

/** Handles the rejection of an async function that was given for a plain one. Otherwise it would end the process. */
export function catchLater(returned: unknown, caught: (error: unknown) => void): void {
  if (typeof (returned as PromiseLike<unknown> | undefined | null)?.then === 'function')
    Promise.resolve(returned).catch(caught)
}

/** Warns the vendor: by a process warning if the runtime has them, otherwise on the console. */
export function warn(message: string, code: string): void {
  const warned = ofNode(process => {
    process.emitWarning(message, { type: 'KeyrailWarning', code })
    return true
  })
  if (!warned) console.warn(`[${code}] KeyrailWarning: ${message}`)
}
