import type { IncomingMessage } from 'node:http'
import { clockSlackS, type EmbedClaims, type EmbedTokens } from '../platform/crypto/embed-token.ts'
import { type CallerOrigin, callerOriginOf, everyAnswer, letRead, readOrigin } from '../platform/http/cors.ts'
import { headerValues } from '../platform/http/headers.ts'
import { Refusal } from '../platform/refusal.ts'
import { type Authenticate, type From, unauthenticated } from './authenticate.ts'
import type { EmbedStanding, FindStanding } from './lookup.ts'
import { type Principal, unlimited } from './principal.ts'

/**
 * @param tell headers for the answer, be it a refusal: which page may read it is known from here on.
 * @param until when the caller must be answered, on the clock of `performance.now()`.
 */
export type AuthenticateEmbed = (
  request: IncomingMessage,
  from: From,
  tell: (headers: Readonly<Record<string, string>>) => void,
  until?: number,
) => Promise<Principal>

interface Parts {
  readonly embedTokens: Pick<EmbedTokens, 'verify'>
  readonly standing: FindStanding
  /** For what is no embed token: a valid credential of another kind is told that it is one. */
  readonly authenticate: Authenticate
  /** Of the service, whose own pages may be registered like any other. */
  readonly publicUrl: string
}

/** A JWT: three parts, as long as a header may be. No other credential has a dot. */
const bearer = /^bearer ([\x21-\x7e]{1,16384})$/i
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Turns a request of the embed plane into a principal: the signature first, and then in one look-up all that may have
 * changed since the token was minted, as it is now. Nothing of that is ever reused.
 */
export function createAuthenticateEmbed(parts: Parts): AuthenticateEmbed {
  const ownOrigin = readOrigin(new URL(parts.publicUrl).origin)
  return async (request, from, tell, until) => {
    tell(everyAnswer)
    const authorization = headerValues(request, 'authorization')
    const token = authorization.length === 1 ? bearer.exec(authorization[0] ?? '')?.[1] : undefined
    if (token === undefined || !form.test(token)) return await parts.authenticate(authorization, from, until)
    const claims = await parts.embedTokens.verify(token)
    const standing = claims && (await parts.standing.run(claims, until))
    if (claims === null || standing === null) throw unauthenticated()

    const caller = callerOriginOf(request, ownOrigin)
    const isAllowed = mayCall(caller, claims, standing)
    if (isAllowed && caller.header !== null) tell(letRead(caller.header))
    const principal = principalOf(claims, standing)
    if (principal === null) throw unauthenticated()
    if (!isAllowed) {
      throw new Refusal(
        'origin_not_allowed',
        'The page is of no origin that is registered, and that the token is for.',
      )
    }
    return principal
  }
}

/** A page must be of an origin that the token is for, and that is registered still. What is no browser has none. */
function mayCall(
  { isBrowser, origin }: CallerOrigin,
  claims: EmbedClaims,
  { origins }: EmbedStanding,
): boolean {
  if (!isBrowser) return true
  if (origin === null) return false
  return origins.some(one => readOrigin(one) === origin) && (claims.origins?.includes(origin) ?? true)
}

/** Null when the token is not of this time, or what it is bound to is no more. At its `exp` a token has expired. */
function principalOf(claims: EmbedClaims, standing: EmbedStanding): Principal | null {
  const { now, tenant, project, hasMinter } = standing
  const expiresAt = claims.expiresAt * 1_000
  if (now >= expiresAt || claims.issuedAt * 1_000 > now + clockSlackS * 1_000) return null
  if (!hasMinter || tenant === null || project === null || tenant.epoch !== claims.epoch) return null
  return {
    ...unlimited,
    kind: 'embed_token',
    id: claims.id,
    sessionId: null,
    workspaceId: claims.workspaceId,
    role: 'member',
    reach: claims.env === 'test' ? 'test' : 'both',
    embed: {
      tenant,
      project,
      env: claims.env,
      scopes: claims.scopes,
      mintedBy: claims.mintedBy,
      expiresAt: new Date(expiresAt),
    },
  }
}
