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

/** Holds one token in memory, and renews it before it ends: one renewal at a time, however many calls wait. */
export function createTokens(parts: Parts): Tokens {
  const tokens = new RenewedTokens(parts)
  // Functions, not methods: an event listener and the client take `wake` and `expire` alone.
  return {
    current: () => tokens.current(),
    replace: refused => tokens.replace(refused),
    subject: () => tokens.subject(),
    serviceNow: () => tokens.serviceNow(),
    learn: date => tokens.learn(date),
    takeFrom: getToken => tokens.takeFrom(getToken),
    expire: () => tokens.expire(),
    wake: () => tokens.wake(),
    close: () => tokens.close(),
  }
}

class RenewedTokens implements Tokens {
  readonly #now: Parts['now']
  readonly #onChange: Parts['onChange']
  #getToken: GetToken
  #held: Held | null = null
  /** The claims of the newest token. */
  #last: Claims | null = null
  /** Grows when a new token is wanted. A token that was asked for before that is not accepted. */
  #wanted = 0
  /** What `#wanted` was when the held token was asked for. */
  #got = 0
  #renewal: Promise<Held> | null = null
  /** The calls of `getToken` since a new token was last wanted. The page may still answer them. */
  #asked: Promise<string> | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  /** The service's time minus the clock; null until an answer has shown it. */
  #ahead: number | null = null

  constructor({ getToken, now, onChange }: Parts) {
    this.#getToken = getToken
    this.#now = now
    this.#onChange = onChange
  }

  async current(): Promise<Held> {
    const held = this.#held
    return held !== null && this.#got === this.#wanted && this.#leftMs(held) > leastMs
      ? held
      : await this.#renew()
  }

  async replace(refused: Held): Promise<Held> {
    const held = this.#held
    return held !== null && held.token !== refused.token ? held : await this.#renew()
  }

  subject(): string | null {
    return this.#last?.subject ?? null
  }

  serviceNow(): number {
    return this.#ahead === null ? Date.now() : this.#now() + this.#ahead
  }

  learn(date: string | null): void {
    const at = Date.parse(date ?? '')
    if (Number.isNaN(at)) return
    this.#ahead = at - this.#now()
    const held = this.#held
    if (held?.expiresAt == null) return
    const end = held.expiresAt - this.#ahead
    // A second is the precision of the header.
    if (end > held.endsAt - 1_000) return
    held.endsAt = end
    this.#schedule()
  }

  takeFrom(getToken: GetToken): void {
    if (getToken === this.#getToken) return
    this.#getToken = getToken
    this.expire()
  }

  /** Also forgets the calls of `getToken` that the page may still answer, with the token of another customer. */
  expire(): void {
    this.#wanted += 1
    this.#asked = null
  }

  wake(): void {
    if (this.#held === null || isHidden()) return
    if (this.#leftMs(this.#held) > earlyMs) {
      this.#schedule()
      return
    }
    this.#renew().catch(({ retryAfterS }) => {
      const waitMs = Math.max(retryMs, retryAfterS * 1_000)
      if (this.#held !== null && this.#leftMs(this.#held) > waitMs) this.#schedule(waitMs)
    })
  }

  close(): void {
    this.#isClosed = true
    this.expire()
    clearTimeout(this.#timer)
    this.#held = null
    this.#last = null
    this.#renewal = null
  }

  #leftMs(held: Held): number {
    return held.endsAt - this.#now()
  }

  #renew(): Promise<Held> {
    if (this.#renewal !== null) return this.#renewal
    const own = this.#fetchToken().finally(() => {
      if (this.#renewal === own) this.#renewal = null
    })
    this.#renewal = own
    return own
  }

  async #fetchToken(): Promise<Held> {
    if (this.#isClosed) throw new EmbedError('closed', 'The client is closed.')
    const began = this.#wanted
    const answer = await this.#askPage(began)
    // The page has changed its function or its customer meanwhile, and the token may be another tenant's.
    if (answer === null || this.#wanted !== began) return await this.#fetchToken()
    const { token, claims } = answer
    const before = this.#last
    this.#last = claims
    const held = { ...claims, token, endsAt: this.#endOf(claims) }
    this.#held = held
    this.#got = began
    this.#schedule()
    if (before !== null && before.subject !== claims.subject) this.#onChange('tenant')
    else if (before !== null && before.scopes !== claims.scopes) this.#onChange('scopes')
    return held
  }

  /**
   * @param began what `#wanted` was when the fetch began
   * @returns null if a new token was wanted meanwhile
   * @throws EmbedError if the page gives no token
   */
  async #askPage(began: number): Promise<{ token: string; claims: Claims } | null> {
    const own = Promise.resolve().then(this.#getToken)
    // A token of an earlier call serves as well; the failure of an earlier call does not count.
    this.#asked = Promise.race([own, (this.#asked ?? own).catch(() => own)])
    const hang = this.#rejectWhenHanging()
    try {
      const token = await Promise.race([this.#asked, hang.rejected])
      this.#asked = null
      if (this.#wanted !== began) return null
      const claims = typeof token === 'string' ? readClaims(token) : null
      if (claims === null) throw wrongSource(this.#getToken, token)
      return { token, claims }
    } catch (cause) {
      if (this.#wanted !== began) return null
      throw refusal(cause)
    } finally {
      hang.stop()
    }
  }

  /** Reports a late page, and rejects when the page has not answered for longer. */
  #rejectWhenHanging(): { rejected: Promise<never>; stop: () => void } {
    let timer: ReturnType<typeof setTimeout> | undefined
    const rejected = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        timer = setTimeout(() => reject(awaited()), hangMs)
        // The next call asks the page anew: this call may hang for ever.
        this.#renewal = null
        this.#onChange('late')
      }, lateMs)
    })
    return { rejected, stop: () => clearTimeout(timer) }
  }

  /** When a token that was got now ends, on the client's clock. */
  #endOf({ issuedAt, expiresAt }: Claims): number {
    const now = this.#now()
    const lifeMs = expiresAt !== null && issuedAt !== null ? expiresAt - issuedAt : assumedLifeMs
    return expiresAt !== null && this.#ahead !== null
      ? Math.min(now + lifeMs, expiresAt - this.#ahead)
      : now + lifeMs
  }

  /** A hidden tab asks for nothing: it would keep the person signed in at the vendor. */
  #schedule(afterMs?: number): void {
    clearTimeout(this.#timer)
    if (this.#held === null || isHidden()) return
    const left = this.#leftMs(this.#held)
    const early = Math.min(earlyMs, left / 2)
    this.#timer = setTimeout(() => this.wake(), afterMs ?? Math.max(leastMs, left - early))
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
