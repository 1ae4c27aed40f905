import { type Claims, readClaims } from './claims.ts'
import { EmbedError, isEmbedError } from './embed-error.ts'
import { isOffline } from './is-offline.ts'
import { retryAfterOf } from './retry-after.ts'

/**
 * Gets a token from the vendor's server. The page calls it with the vendor's own credential, such as its cookie.
 *
 * Where the server answers with another status than 2xx, throw that `Response`, or an error with its `status`. Above 403, and after
 * the `TypeError` of a `fetch` without an answer, the client says `unavailable` (`too_many_requests` for 429) with the `Retry-After`
 * of the answer. Whatever else is thrown means that the person is signed out: `session_ended`.
 */
export type GetToken = () => Promise<string>

export interface Held extends Claims {
  readonly token: string
  /** When it ends, on the client's clock. */
  endsAt: number
}

/** What a new token changed; or `late`, where the page has given none for five seconds, and is still awaited. */
export type TokenChange = 'tenant' | 'scopes' | 'late'

interface Parts {
  readonly getToken: GetToken
  /** Milliseconds that only grow. */
  readonly now: () => number
  /** Called before any call continues with the new token, or while calls wait for one. */
  readonly onChange: (change: TokenChange) => void
}

export interface Tokens {
  /** The token for a call: the held one while it is valid, otherwise a new one. */
  current(): Promise<Held>
  /** A token in place of a refused one. It waits for a renewal that is under way. */
  replace(refused: Held): Promise<Held>
  /** Whose keys the newest token is for; null before the first one. */
  subject(): string | null
  /** The service's time, in milliseconds since 1970; that of the machine until an answer has shown it. */
  serviceNow(): number
  /** Sets the clock of the service, by the `Date` of an answer that arrived now. */
  learn(date: string | null): void
  takeFrom(getToken: GetToken): void
  /** Makes the next call get a new token. */
  expire(): void
  /** Renews a token that is about to end. Called when the tab wakes, and by the timer. */
  wake(): void
  /** Stops the timer, forgets the token. */
  close(): void
}

const earlyMs = 60_000
/** A token with less time left is not worth sending. */
const leastMs = 5_000
/** The life of a token that does not say when it ends. */
const assumedLifeMs = 300_000
/** The page has not answered: the person reads so, and may try again. */
const lateMs = 5_000
/** A call waits no longer than that, too. */
const hangMs = 10_000
const retryMs = 10_000

const isHidden = () => globalThis.document?.hidden

/** Holds one token in memory, and renews it in silence before it ends: one renewal at a time, however many calls wait. */
export function createTokens({ getToken: first, now, onChange }: Parts): Tokens {
  let getToken = first
  let held: Held | null = null
  let last: Claims | null = null
  /** Grows with each wish for a new token; what was asked for before the newest wish is not accepted. */
  let wanted = 0
  let got = 0
  let renewal: Promise<Held> | null = null
  /** What the page was asked for since the newest wish, and may still answer. */
  let asked: Promise<string> | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  /** The service's time minus the clock; null until an answer has shown it. */
  let ahead: number | null = null

  /** What the page still answers may be another customer's token. */
  const wish = () => {
    wanted += 1
    asked = null
  }

  const leftMs = (one: Held) => one.endsAt - now()

  function endOf({ issuedAt, expiresAt }: Claims, fallback: number): number {
    const ends = [
      expiresAt !== null && issuedAt !== null ? fallback - assumedLifeMs + (expiresAt - issuedAt) : fallback,
    ]
    if (expiresAt !== null && ahead !== null) ends.push(expiresAt - ahead)
    return Math.min(...ends)
  }

  async function fetchToken(): Promise<Held> {
    if (isClosed) throw new EmbedError('closed', 'The client is closed.')
    const began = wanted
    let hang: ReturnType<typeof setTimeout> | undefined
    const hangs = new Promise<never>((_, reject) => {
      hang = setTimeout(() => {
        hang = setTimeout(() => reject(awaited()), hangMs)
        // The next call asks anew: what hangs may hang for ever.
        renewal = null
        onChange('late')
      }, lateMs)
    })
    const mine = Promise.resolve().then(getToken)
    // An answer to an earlier question is as good; its failure is not.
    asked = Promise.race([mine, (asked ?? mine).catch(() => mine)])
    let token = ''
    let claims: Claims | null = null
    try {
      token = await Promise.race([asked, hangs])
      asked = null
      claims = typeof token === 'string' ? readClaims(token) : null
      if (wanted === began && claims === null) throw wrongSource(getToken, token)
    } catch (cause) {
      if (wanted === began) throw refusal(cause)
    } finally {
      clearTimeout(hang)
    }
    // The page has changed its function or its customer meanwhile, and the token may be another tenant's.
    if (wanted !== began || claims === null) return await fetchToken()
    const before = last
    last = claims
    held = { ...claims, token, endsAt: endOf(claims, now() + assumedLifeMs) }
    got = began
    schedule()
    if (before !== null && before.subject !== claims.subject) onChange('tenant')
    else if (before !== null && before.scopes !== claims.scopes) onChange('scopes')
    return held
  }

  function renew(): Promise<Held> {
    if (renewal !== null) return renewal
    const mine = fetchToken().finally(() => {
      if (renewal === mine) renewal = null
    })
    renewal = mine
    return mine
  }

  /** A hidden tab asks for nothing: it would keep the person signed in at the vendor. */
  function schedule(afterMs?: number): void {
    clearTimeout(timer)
    if (held === null || isHidden()) return
    const left = leftMs(held)
    const early = Math.min(earlyMs, left / 2)
    timer = setTimeout(wake, afterMs ?? Math.max(leastMs, left - early))
  }

  function wake(): void {
    if (held === null || isHidden()) return
    if (leftMs(held) > earlyMs) {
      schedule()
      return
    }
    renew().catch(({ retryAfterS }) => {
      const waitMs = Math.max(retryMs, retryAfterS * 1_000)
      if (held !== null && leftMs(held) > waitMs) schedule(waitMs)
    })
  }

  return {
    async current() {
      return held !== null && got === wanted && leftMs(held) > leastMs ? held : await renew()
    },
    async replace(refused) {
      return held !== null && held.token !== refused.token ? held : await renew()
    },
    subject: () => last?.subject ?? null,
    serviceNow: () => (ahead === null ? Date.now() : now() + ahead),
    learn(date) {
      const at = Date.parse(date ?? '')
      if (Number.isNaN(at)) return
      ahead = at - now()
      if (held?.expiresAt == null) return
      const end = held.expiresAt - ahead
      // A second is the precision of the header.
      if (end > held.endsAt - 1_000) return
      held.endsAt = end
      schedule()
    },
    takeFrom(next) {
      if (next === getToken) return
      getToken = next
      wish()
    },
    expire: wish,
    wake,
    close() {
      isClosed = true
      wish()
      clearTimeout(timer)
      held = null
      last = null
      renewal = null
    },
  }
}

/** For the developer, too. */
export const awaited = () => new EmbedError('token_awaited', 'getToken() is awaited.')

/** For the developer. It has nothing of the text, which may be a token in a wrong form. */
function wrongSource(getToken: unknown, token: unknown): EmbedError {
  const is = typeof token === 'string' ? 'another text' : typeof token
  const fault = typeof getToken === 'function' ? `has resolved to ${is}` : 'is no function'
  return new EmbedError(
    'misconfigured',
    `getToken must be a function that resolves to the text of a token. It ${fault}.`,
  )
}

/** Why the page gave no token. Without a network it cannot have asked its server, so the session may go on. */
function refusal(cause: unknown): EmbedError {
  if (isEmbedError(cause)) return cause
  if (isOffline()) return new EmbedError('offline', 'You are offline.', { cause })
  const { name, status = 0, headers } = (cause ?? {}) as Partial<Response & Error>
  if (status <= 403 && name !== 'TypeError')
    return new EmbedError('session_ended', 'The page has no token.', { cause })
  const code = status === 429 ? 'too_many_requests' : 'unavailable'
  return new EmbedError(code, 'The page gets no token now.', { cause, retryAfterS: retryAfterOf(headers) })
}
