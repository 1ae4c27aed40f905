import type { Routes } from '@keyrail/contract/routes/all'
import type { Problem } from '../errors.ts'
import { EmbedError, type EmbedErrorFacts, isEmbedError } from './embed-error.ts'
import { isOffline } from './is-offline.ts'
import { retryAfterOf } from './retry-after.ts'
import type { Held, Tokens } from './tokens.ts'

interface EmbedCall {
  /** Such as `PATCH /v1/embed/keys/:id`. */
  readonly route: `${'GET' | 'POST' | 'PATCH'} /v1/embed/${string}`
  readonly id?: string
  readonly query?: object
  readonly body?: object
}

export type Send = <T>(call: EmbedCall) => Promise<T>

interface Parts {
  readonly baseUrl: string
  readonly tokens: Tokens
  /** Ends every call. */
  readonly closed: AbortSignal
}

const answerMs = 30_000
const probeRoute = 'GET /v1/embed/session' satisfies keyof Routes
const probeMs = 10_000

/** Sends calls with the newest token, once more after a refused one, and turns every failure into an `EmbedError`. */
export function createSend(parts: Parts): Send {
  const sender = new Sender(parts)
  return call => sender.send(call)
}

class Sender {
  readonly #tokens: Tokens
  readonly #closed: AbortSignal
  /** Null for an address to which no token may go. */
  readonly #root: string | null
  /** Whether Keyrail has answered: the address is right, whatever a proxy answers afterwards. */
  #isFound = false

  constructor({ baseUrl, tokens, closed }: Parts) {
    this.#root = rootOf(baseUrl)
    this.#tokens = tokens
    this.#closed = closed
  }

  async send(call: EmbedCall): Promise<never> {
    if (this.#root === null) throw wrongAddress('')
    const isChange = isChanging(call)
    // A second try is for the same tenant as the first.
    const subject = this.#tokens.subject()
    // Without a network from the start, nothing is sent.
    const maybeSent = isChange && !isOffline()
    try {
      return await this.#sendOnce(call, subject)
    } catch (error) {
      if (isEmbedError(error)) throw error
      const failure = await this.#toError(error, maybeSent)
      // The probe has got a token that works, and reading twice is harmless.
      if (failure.code !== 'unreachable' || isChange) throw failure
      return await this.#sendOnce(call, subject).catch(again => {
        throw isEmbedError(again) ? again : failure
      })
    }
  }

  async #sendOnce(call: EmbedCall, subject: string | null): Promise<never> {
    const isChange = isChanging(call)
    const [answer, held] = await this.#askTwice(call, subject)
    const body = answer.ok ? await this.#bodyOf(answer, isChange) : null
    // An answer about one tenant must not reach a page that shows another.
    if (held.subject !== this.#tokens.subject()) throw changed()
    if (!answer.ok) throw await this.#problemOf(answer, isChange)
    return body as never
  }

  async #askTwice(call: EmbedCall, subject: string | null): Promise<[Response, Held]> {
    const held = await this.#tokens.current()
    if (subject !== null && held.subject !== subject) throw changed()
    const answer = await this.#ask(call, held)
    if (answer.status !== 401) return [answer, held]
    const next = await this.#tokens.replace(held)
    if (next.subject !== held.subject) throw changed()
    const second = await this.#ask(call, next)
    if (second.status === 401) throw await this.#problemOf(second, false)
    return [second, next]
  }

  async #ask({ route, id = '', query = {}, body }: EmbedCall, { token }: Held): Promise<Response> {
    const [method, path] = route.split(' ') as [string, string]
    const url = new URL(this.#root + path.replace(':id', encodeURIComponent(id)))
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const answer = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: JSON.stringify(body),
      signal: this.#within(answerMs),
      cache: 'no-store',
      credentials: 'omit',
      // The token goes to this service only.
      redirect: 'error',
      referrerPolicy: 'strict-origin-when-cross-origin',
    })
    this.#tokens.learn(answer.headers.get('date'))
    return answer
  }

  async #bodyOf(answer: Response, isChange: boolean): Promise<unknown> {
    const body = await answer.json().catch((error: Error) => {
      if (error.name !== 'SyntaxError') throw error
    })
    // Every answer of Keyrail names its `object`.
    if (body?.object === undefined) throw this.#notKeyrail({ isOutcomeUnknown: isChange })
    this.#isFound = true
    return body
  }

  async #problemOf(answer: Response, isChange: boolean): Promise<EmbedError> {
    const problem: Partial<Problem> | null = await answer.json().catch(() => null)
    const { code, detail, errors, request_id } = problem ?? {}
    const facts = {
      status: answer.status,
      requestId: request_id ?? answer.headers.get('x-request-id'),
      retryAfterS: retryAfterOf(answer.headers),
      faults: errors ?? [],
      isOutcomeUnknown: isChange && answer.status >= 500 && code !== 'unavailable',
    }
    if (code !== undefined) this.#isFound = true
    else if (!this.#isFound && answer.status < 500) return this.#notKeyrail(facts)
    if (answer.status === 401)
      return new EmbedError('session_ended', detail ?? 'The session has ended.', facts)
    return new EmbedError(code ?? 'unreachable', detail ?? `The answer was ${answer.status}.`, facts)
  }

  async #toError(error: unknown, isChange: boolean): Promise<EmbedError> {
    if (this.#closed.aborted) return new EmbedError('closed', 'The client is closed.')
    const facts = { cause: error, isOutcomeUnknown: isChange }
    if ((error as Error).name === 'TimeoutError')
      return new EmbedError('timed_out', 'The service has not answered in time.', facts)
    if (isOffline()) return new EmbedError('offline', 'You are offline.', facts)
    const isKeyrail = (await this.#probe('cors')) ?? (await this.#probe('no-cors'))
    if (isKeyrail === true && !(await this.#canAsk(isChange)))
      return new EmbedError(
        'origin_not_allowed',
        `The service refuses ${globalThis.origin}. Register it (Settings, Embed), in the token too. Or the token is not of this service.`,
      )
    return isKeyrail === false ? this.#notKeyrail(facts) : unreachable(facts)
  }

  /**
   * Whether Keyrail answers at the address; null if nothing does. Browsers hide an answer that the page may not read, so a refused
   * origin looks like a missing network.
   */
  async #probe(mode: RequestMode): Promise<boolean | null> {
    try {
      // Public keys, which any page may read.
      const url = `${this.#root}/.well-known/jwks.json`
      const answer = await fetch(url, { mode, signal: this.#within(probeMs), credentials: 'omit' })
      if (answer.status >= 500) return null
      // A call follows no redirect.
      return !answer.redirected && (await answer.json().catch(() => null))?.keys !== undefined
    } catch {
      return null
    }
  }

  /** Whether this page can read any answer, with a token that is surely new. */
  async #canAsk(isChange: boolean): Promise<boolean> {
    try {
      this.#tokens.expire()
      await this.#ask({ route: probeRoute }, await this.#tokens.current())
      return true
    } catch (error) {
      // Other calls may get the same error, so this call gets its own copy.
      if (isEmbedError(error))
        throw new EmbedError(error.code, error.message, {
          ...error,
          cause: error,
          isOutcomeUnknown: isChange,
        })
      return false
    }
  }

  /** Something else answers: a proxy whose Keyrail is gone, or there was never one. */
  #notKeyrail(facts: EmbedErrorFacts): EmbedError {
    return this.#isFound
      ? unreachable(facts)
      : wrongAddress(` Something else answers at ${this.#root}.`, facts)
  }

  #within(milliseconds: number): AbortSignal {
    return AbortSignal.any([this.#closed, AbortSignal.timeout(milliseconds)])
  }
}

const isChanging = ({ route }: EmbedCall) => !route.startsWith('GET')

export const changed = () => new EmbedError('tenant_changed', 'The newest token is for another tenant.')

const unreachable = (facts: EmbedErrorFacts) =>
  new EmbedError('unreachable', 'The service cannot be reached.', facts)

/** For the developer. */
const wrongAddress = (fault: string, facts?: EmbedErrorFacts) =>
  new EmbedError(
    'misconfigured',
    `baseUrl must be the address of Keyrail, such as https://keys.example.com.${fault}`,
    facts,
  )

/** Null for an address to which no token may go. */
function rootOf(baseUrl: string): string | null {
  try {
    const { protocol, origin, pathname, username } = new URL(baseUrl)
    return /^https?:$/.test(protocol) && username === '' ? origin + pathname.replace(/\/+$/, '') : null
  } catch {
    return null
  }
}
