import type { HttpCaller } from '../http/call.ts'
import { parseMembers } from '../http/json.ts'
import { delayAfterError } from '../http/schedule.ts'
import { type KeyrailError, passing } from '../runtime/errors.ts'
import { warn } from '../runtime/reports.ts'
import type { Timer } from '../runtime/timer.ts'
import { requireSecret } from './lost-secret.ts'
import { withTenantNamed } from './named-tenant.ts'
import { errorFromService, fromService, toService } from './names.ts'

/** Options of one call, in place of those of the client. */
export interface CallOptions {
  /** Aborts the call, which rejects with the code `aborted`. */
  signal?: AbortSignal | undefined
  /** Time limit of one attempt in ms. */
  timeoutMs?: number | undefined
  /** How often a failed call is repeated, if repeating it is safe. */
  maxRetries?: number | undefined
}

export interface KeyedOptions extends CallOptions {
  /** Names a create or rotation, so that repeating it makes nothing new. 1 to 255 printable ASCII characters; a new UUID by default. */
  idempotencyKey?: string | undefined
}

interface AdminCall {
  /** GET by default. */
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** A function looks it up, once the rest of the call is known to be right. */
  path: string | (() => Promise<string>)
  query?: object | undefined
  body?: object | undefined
  status?: 200 | 201
  /** The `object` of the expected answer. */
  object: string
  /**
   * True: repeating the call is safe only with an `Idempotency-Key`. False: it is safe without one, except that a DELETE
   * whose result is unknown is not repeated, because a DELETE that was done answers the second one with 404.
   */
  keyed?: boolean
  options?: KeyedOptions | undefined
}

export type AdminRequest = <T>(call: AdminCall) => Promise<T>

/** A page of 200 keys, each with 64 KiB of `meta`. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024

/** As many different warnings as one client passes on. */
const warningsMax = 100

/** The longest pause between two attempts, unless the service asks for a longer one. */
const BACKOFF_MAX_MS = 8_000

/** The defaults of a client, and its timer and randomness. */
export interface AdminDefaults {
  timer: Timer
  random: () => number
  timeoutMs: number
  maxRetries: number
}

/** Sends one call and repeats it, with full jitter between attempts. */
export function createAdminRequest(call: HttpCaller, defaults: AdminDefaults): AdminRequest {
  const warned = new Set<string>()
  return async function request<T>({
    method = 'GET',
    path,
    query,
    body,
    status = 200,
    object,
    keyed = false,
    options = {},
  }: AdminCall) {
    const { signal, timeoutMs = defaults.timeoutMs, maxRetries = defaults.maxRetries } = options
    const headers: Record<string, string> = keyed
      ? { 'idempotency-key': readIdempotencyKey(options.idempotencyKey) }
      : {}
    const asked = {
      method,
      query: queryOf(toService(withTenantNamed(query))),
      body: toService(withTenantNamed(body)),
      // Not before the names are known to be right.
      path: typeof path === 'string' ? path : await path(),
      headers,
      accepts: [status],
      timeoutMs,
      maxBytes: ANSWER_MAX_BYTES,
      signal,
    }
    const what = `${method} ${asked.path}`
    for (let failures = 1; ; failures++) {
      try {
        const { text, headers } = await call(asked)
        warnOnce(warned, what, headers.get('keyrail-warning'))
        const answer = fromService(parseMembers(text))
        if (answer.object === object) {
          if (keyed) requireSecret(what, answer)
          return answer as T
        }
        throw badAnswer(what, object)
      } catch (thrown) {
        const error = thrown as KeyrailError
        // A throttled call was not executed.
        const mayRepeat = error.retryable && (method !== 'DELETE' || error.status === 429)
        if (failures > maxRetries || !mayRepeat) throw errorFromService(error)
        await pauseAfter(error, failures, defaults, signal)
      }
    }
  }
}

/** Passes a warning of the service to the process, such as one of a scope that matches nothing. A loop of calls gets it once. */
function warnOnce(warned: Set<string>, what: string, warning: string | null): void {
  if (warning === null || warned.has(warning)) return
  if (warned.size >= warningsMax) return
  warned.add(warning)
  warn(`${what}: ${warning}`, 'service_warning')
}

/** Rejects what the service would reject, and `fetch` cannot send. */
function readIdempotencyKey(key: string = crypto.randomUUID()): string {
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key))
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters')
  return key
}

/** Full jitter, longer after every failure. Ends early when the caller aborts. */
export function pauseAfter(
  { retryAfterMs }: KeyrailError,
  failures: number,
  { timer, random }: AdminDefaults,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise(resolve => {
    const delay = delayAfterError({ failures, retryAfterMs }, BACKOFF_MAX_MS, random)
    const cancel = timer.after(delay, done, true)
    function done() {
      signal?.removeEventListener('abort', done)
      cancel()
      resolve()
    }
    signal?.addEventListener('abort', done, { once: true })
    if (signal?.aborted) done()
  })
}

export function queryOf(query: object = {}): URLSearchParams {
  // URLSearchParams converts numbers and booleans to text.
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return new URLSearchParams(pairs as [string, string][])
}

const badAnswer = (what: string, object: string): KeyrailError =>
  passing('bad_response', `${what} was not answered with ${object}`)
