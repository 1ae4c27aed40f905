import { type HttpCaller, parseMembers } from '../http/call.ts'
import { abortedError } from '../http/failure.ts'
import { delayAfterError } from '../http/schedule.ts'
import { KeyrailError } from '../runtime/errors.ts'
import type { Timer } from '../runtime/timer.ts'

/** For one call, in place of what the client was made with. */
export interface CallOptions {
  /** Gives the call up; it rejects with the code `aborted`. */
  signal?: AbortSignal | undefined
  /** How long one attempt may take. */
  timeoutMs?: number | undefined
  /** How often a call that failed is made again, where that does no harm. */
  maxRetries?: number | undefined
}

export interface KeyedOptions extends CallOptions {
  /** Names a create or a rotation, so that a repetition of it makes nothing new. Drawn for each call unless given. */
  idempotencyKey?: string | undefined
}

export interface AdminCall {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: object | undefined
  body?: object | undefined
  status?: 200 | 201
  /** What the answer says that it is. */
  object: string
  /**
   * Whether it may be sent again when nobody knows what became of it. `safe`: twice does what once does. `keyed`: so
   * does twice with an `Idempotency-Key`. `never`: a DELETE that was done answers a second one with 404.
   */
  repeat: 'safe' | 'keyed' | 'never'
  options?: KeyedOptions | undefined
}

export type AdminRequest = <T>(call: AdminCall) => Promise<T>

/** A page of 200 keys, each with 64 KiB of `meta`. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024

/** Between two attempts, unless the service asks for more. */
const BACKOFF_MAX_MS = 8_000

/** One call and its repetitions, with full jitter between them. */
export function createAdminRequest({
  call,
  timer,
  random,
  ...defaults
}: {
  call: HttpCaller
  timer: Timer
  random: () => number
  timeoutMs: number
  maxRetries: number
}): AdminRequest {
  return async function request<T>({
    method,
    path,
    query,
    body,
    status = 200,
    object,
    repeat,
    options = {},
  }: AdminCall) {
    const { signal, timeoutMs = defaults.timeoutMs, maxRetries = defaults.maxRetries } = options
    const headers: Record<string, string> =
      repeat === 'keyed' ? { 'idempotency-key': readIdempotencyKey(options.idempotencyKey) } : {}
    const exchange = async () => {
      const { text } = await call({
        method,
        path,
        query: queryOf(query),
        headers,
        body,
        accepts: [status],
        timeoutMs,
        maxBytes: ANSWER_MAX_BYTES,
        signal,
      })
      const answer = parseMembers(text)
      if (answer.object !== object) throw badAnswer(`${method} ${path}`, object)
      return answer as T
    }
    for (let failures = 1; ; failures++) {
      try {
        return await exchange()
      } catch (thrown) {
        const error = thrown as KeyrailError
        if (failures > maxRetries || !mayRepeat(error, repeat)) throw error
        await pauseAfter(error, failures, { timer, random }, signal)
        if (signal?.aborted) throw abortedError(`${method} ${path}`)
      }
    }
  }
}

/** What the service would not take, no fetch can send. */
function readIdempotencyKey(key: string = crypto.randomUUID()): string {
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key))
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters')
  return key
}

/** What was throttled was not done, whatever it was. */
const mayRepeat = (error: KeyrailError, repeat: AdminCall['repeat']): boolean =>
  error.retryable && (repeat !== 'never' || error.status === 429)

/** Full jitter, longer after every failure; ends at once where the caller gives up. */
export function pauseAfter(
  { retryAfterMs }: KeyrailError,
  failures: number,
  { timer, random }: { timer: Timer; random: () => number },
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
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)]))
}

const badAnswer = (what: string, object: string): KeyrailError =>
  new KeyrailError('bad_response', `${what} was not answered with ${object}`, { retryable: true })
