import type { IncomingMessage } from 'node:http'
import type { Env } from '@keyrail/contract/shared'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { type CallerOrigin, callerOriginOf, everyAnswer, letRead, readOrigin } from '../platform/http/cors.ts'
import { headerValues } from '../platform/http/headers.ts'
import { Refusal } from '../platform/refusal.ts'
import { type Authenticate, type From, unauthenticated } from './authenticate.ts'
import { readBearer } from './bearer.ts'
import type { EmbedStanding, FindStanding } from './lookup.ts'
import { type Principal, unlimited } from './principal.ts'

/** The claims of an embed token. The database decides whether they still hold. */
export interface EmbedClaims {
  readonly id: string
  readonly workspaceId: string
  readonly tenantId: string
  readonly projectId: string
  /** The secret key that minted it, with which it ends. */
  readonly mintedBy: string
  readonly env: Env
  readonly scopes: readonly string[]
  /** In their canonical form; null: all that are registered. */
  readonly origins: readonly string[] | null
  /** The tenant's when it was minted. */
  readonly epoch: number
  /** Seconds since 1970. */
  readonly issuedAt: number
  /** Seconds since 1970. At that moment it has expired. */
  readonly expiresAt: number
}

/** Returns the claims of a token that the service signed; null for every other text. It does not check the time. */
type VerifyToken = (token: string) => Promise<EmbedClaims | null>

/** @param addHeaders adds headers to the response, also to a refusal, so that an allowed page can read it. */
export type AuthenticateEmbed = (
  request: IncomingMessage,
  from: From,
  addHeaders: (headers: Readonly<Record<string, string>>) => void,
  deadline?: Deadline,
) => Promise<Principal>

interface Parts {
  readonly verifyToken: VerifyToken
  readonly standing: FindStanding
  /** Handles other credentials, so that a valid one gets 403 instead of 401. */
  readonly authenticate: Authenticate
  /** The URL of the service, whose own pages may be registered like any other. */
  readonly publicUrl: string
}

/**
 * How far ahead of the store's clock a token may have been minted, in seconds: a store that takes over from another may
 * be behind it.
 */
const clockSlackS = 60

/** A JWT: three parts. No other credential has a dot. */
const form = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Turns a request with an embed token into a principal: it verifies the signature and then looks up everything that may
 * have changed since the token was minted. The look-up is never reused.
 */
export function createAuthenticateEmbed(parts: Parts): AuthenticateEmbed {
  const ownOrigin = readOrigin(new URL(parts.publicUrl).origin)
  return async (request, from, addHeaders, deadline) => {
    addHeaders(everyAnswer)
    const authorization = headerValues(request, 'authorization')
    const token = readBearer(authorization)
    if (token === undefined || !form.test(token))
      return await parts.authenticate(authorization, from, deadline)
    const claims = await parts.verifyToken(token)
    const standing = claims && (await parts.standing.run(claims, deadline))
    if (claims === null || standing === null) throw unauthenticated()

    const caller = callerOriginOf(request, ownOrigin)
    const isAllowed = mayCall(caller, claims, standing)
    if (isAllowed && caller.header !== null) addHeaders(letRead(caller.header))
    const principal = principalOf(claims, standing)
    if (principal === null) throw unauthenticated()
    if (!isAllowed) {
      throw new Refusal(
        'origin_not_allowed',
        'This origin is not registered, or the token does not allow it.',
      )
    }
    return principal
  }
}

/** A page needs an origin that the token allows and that is still registered. Other clients send no origin. */
function mayCall(
  { isBrowser, origin }: CallerOrigin,
  claims: EmbedClaims,
  { origins }: EmbedStanding,
): boolean {
  if (!isBrowser) return true
  if (origin === null) return false
  return origins.some(one => readOrigin(one) === origin) && (claims.origins?.includes(origin) ?? true)
}

/** Null when the token is not valid at this time, or something it depends on is gone. At its `exp` it has expired. */
function principalOf(claims: EmbedClaims, standing: EmbedStanding): Principal | null {
  const { now, vendorName, tenant, project, hasMinter, theme } = standing
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
      vendorName,
      tenant,
      project,
      env: claims.env,
      scopes: tenant.isSuspended ? claims.scopes.filter(scope => scope === 'keys:read') : claims.scopes,
      theme,
      mintedBy: claims.mintedBy,
      expiresAt: new Date(expiresAt),
    },
  }
}
