import type { Problem } from '../errors.ts'
import { EmbedError, type EmbedErrorFacts, isEmbedError } from './embed-error.ts'
import { isOffline } from './is-offline.ts'
import { retryAfterOf } from './retry-after.ts'
import type { Held, Tokens } from './tokens.ts'

interface EmbedCall {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
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
const probeMs = 10_000

/** Sends calls with the newest token, once more after a refused one, and turns every failure into an `EmbedError`. */
export function createSend({ baseUrl, tokens, closed }: Parts): Send {
  const root = rootOf(baseUrl)
  /** Whether Keyrail has answered: the address is right, whatever a proxy answers afterwards. */
  let isFound = false

  async function ask({ method, path, query = {}, body }: EmbedCall, { token }: Held): Promise<Response> {
    const url = new URL(`${root}/v1/embed${path}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const answer = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([closed, AbortSignal.timeout(answerMs)]),
      cache: 'no-store',
      credentials: 'omit',
      // The token goes to this service only.
      redirect: 'error',
      referrerPolicy: 'strict-origin-when-cross-origin',
    })
    tokens.learn(answer.headers.get('date'))
    return answer
  }

  /**
   * Whether Keyrail answers there; null if nothing does. Browsers hide an answer that the page may not read, so a refused origin
   * looks like a missing network.
   */
  async function isKeyrail(mode: RequestMode): Promise<boolean | null> {
    try {
      const signal = AbortSignal.any([closed, AbortSignal.timeout(probeMs)])
      // Public keys, which any page may read.
      const answer = await fetch(`${root}/.well-known/jwks.json`, { mode, signal, credentials: 'omit' })
      if (answer.status >= 500) return null
      // A call follows no redirect.
      return !answer.redirected && (await answer.json().catch(() => null))?.keys !== undefined
    } catch {
      return null
    }
  }

  async function toError(error: unknown, isChange: boolean): Promise<EmbedError> {
    if (closed.aborted) return new EmbedError('closed', 'The client is closed.')
    const facts = { cause: error, isOutcomeUnknown: isChange }
    if ((error as Error).name === 'TimeoutError')
      return new EmbedError('timed_out', 'The service has not answered in time.', facts)
    if (isOffline()) return new EmbedError('offline', 'You are offline.', facts)
    const is = (await isKeyrail('cors')) ?? (await isKeyrail('no-cors'))
    if (is === true && !(await canAsk(isChange)))
      return new EmbedError(
        'origin_not_allowed',
        `The service refuses ${globalThis.origin}. Register it (Settings, Embed), in the token too. Or the token is not of this service.`,
      )
    return is === false ? notKeyrail(facts) : unreachable(facts)
  }

  /** Something else answers: a proxy whose Keyrail is gone, or there was never one. */
  const notKeyrail = (facts: EmbedErrorFacts) =>
    isFound ? unreachable(facts) : wrongAddress(` Something else answers at ${root}.`, facts)

  /** Whether this page can read any answer, with a token that is surely new. */
  async function canAsk(isChange: boolean): Promise<boolean> {
    try {
      tokens.expire()
      await ask({ method: 'GET', path: '/session' }, await tokens.current())
      return true
    } catch (error) {
      // The error may be that of other calls too, so this one gets its own.
      if (isEmbedError(error))
        throw new EmbedError(error.code, error.message, {
          ...error,
          cause: error,
          isOutcomeUnknown: isChange,
        })
      return false
    }
  }

  async function askTwice(call: EmbedCall, of: string | null): Promise<[Response, Held]> {
    const held = await tokens.current()
    if (of !== null && held.subject !== of) throw changed()
    const answer = await ask(call, held)
    if (answer.status !== 401) return [answer, held]
    const next = await tokens.replace(held)
    if (next.subject !== held.subject) throw changed()
    const second = await ask(call, next)
    if (second.status === 401) throw await problemOf(second, false)
    return [second, next]
  }

  async function bodyOf(answer: Response, isChange: boolean): Promise<unknown> {
    const body = await answer.json().catch((error: Error) => {
      if (error.name !== 'SyntaxError') throw error
    })
    // Every answer of Keyrail says what it is.
    if (body?.object === undefined) throw notKeyrail({ isOutcomeUnknown: isChange })
    isFound = true
    return body
  }

  async function problemOf(answer: Response, isChange: boolean): Promise<EmbedError> {
    const problem: Partial<Problem> | null = await answer.json().catch(() => null)
    const { code, detail, errors, request_id } = problem ?? {}
    const facts = {
      status: answer.status,
      requestId: request_id ?? answer.headers.get('x-request-id'),
      retryAfterS: retryAfterOf(answer.headers),
      faults: errors ?? [],
      isOutcomeUnknown: isChange && answer.status >= 500 && code !== 'unavailable',
    }
    if (code !== undefined) isFound = true
    else if (!isFound && answer.status < 500) return notKeyrail(facts)
    if (answer.status === 401)
      return new EmbedError('session_ended', detail ?? 'The session has ended.', facts)
    return new EmbedError(code ?? 'unreachable', detail ?? `The answer was ${answer.status}.`, facts)
  }

  return async call => {
    if (root === null) throw wrongAddress('')
    const isChange = call.method !== 'GET'
    // A second try is for the same tenant as the first.
    const of = tokens.subject()
    // Without a network from the start, nothing is sent.
    const maybeSent = isChange && !isOffline()
    const once = async () => {
      const [answer, held] = await askTwice(call, of)
      const body = answer.ok ? await bodyOf(answer, isChange) : null
      // An answer about one tenant must not reach a page that shows another.
      if (held.subject !== tokens.subject()) throw changed()
      if (!answer.ok) throw await problemOf(answer, isChange)
      return body as never
    }
    try {
      return await once()
    } catch (error) {
      if (isEmbedError(error)) throw error
      const failure = await toError(error, maybeSent)
      // Asking has got a token that works, and reading twice is harmless.
      if (failure.code !== 'unreachable' || isChange) throw failure
      return await once().catch(again => {
        throw isEmbedError(again) ? again : failure
      })
    }
  }
}

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
