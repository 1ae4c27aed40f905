import type { KeyrailError } from '../runtime/errors.ts'
import { createHttpCaller, type HttpCaller, type HttpCallerOptions } from './call.ts'
import { readUrl } from './option-values.ts'
import { readSecretKey, type SecretKeySource } from './secret-key.ts'

/** How the service is reached. */
export interface ConnectionOptions {
  /** Address of the Keyrail service, such as `https://keys.example.com`; `KEYRAIL_URL` unless given. */
  baseUrl?: string | URL | undefined
  /**
   * A secret key (`krsk_…`) of the workspace, or a function that returns it, also by a promise: it is called before every
   * call, so that the key may change. `KEYRAIL_SECRET_KEY` unless given. It is sent to the service and nowhere else.
   */
  secretKey?: SecretKeySource | undefined
  /** Lets the service's address be `http` beyond this machine: everybody on the way can read the secret key. */
  insecure?: boolean | undefined
  /** Stands in for the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

/** Where errors are told that no request waits for. */
export interface ErrorOptions {
  /** Told of every call that failed. Without it, the first failure of each kind becomes a process warning. */
  onError?: ((error: KeyrailError) => void) | undefined
}

/**
 * What becomes of a request when the service cannot be asked: it passes, or is refused with 503. A service that answers and
 * refuses, as it does for a revoked secret key, is never a reason to pass.
 */
export type OnUnavailable = 'allow' | 'deny'

/** @throws TypeError naming the option that is wrong; it never shows the secret key */
export const readConnection = (options: ConnectionOptions): HttpCaller =>
  createHttpCaller(readConnectionParts(options))

/** @throws like `readConnection` */
export function readConnectionParts(options: ConnectionOptions): HttpCallerOptions {
  const { fetch = globalThis.fetch } = options
  const secretKey = readSecretKey(options.secretKey)
  if (typeof fetch !== 'function') throw new TypeError('fetch must be a function')
  // Called with no receiver: the fetch of some hosts refuses any other.
  return {
    baseUrl: readUrl(options.baseUrl, options.insecure),
    secretKey,
    fetch: (...asked) => fetch(...asked),
  }
}

/** A misspelt option is an error instead of a default. */
export function refuseUnknown(maker: string, options: object, known: Readonly<Record<string, true>>): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${maker} takes an object of options`)
  }
  const unknown = Object.keys(options).find(name => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(`${maker} has no option "${unknown}"`)
}

export function readOnUnavailable(value: unknown): OnUnavailable {
  if (value !== 'allow' && value !== 'deny') throw new TypeError('onUnavailable must be allow or deny')
  return value
}
