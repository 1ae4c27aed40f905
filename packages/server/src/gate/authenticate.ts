import { timingSafeEqual } from 'node:crypto'
import { isWellFormedToken, sessionPrefix, tokenDigest } from '../platform/crypto/token.ts'
import { isInside } from '../platform/network/cidr.ts'
import { Refusal } from '../platform/refusal.ts'
import type { FindCredential, Lookup, SecretKeyRecord, SessionRecord } from './lookup.ts'
import { type Principal, unlimited } from './principal.ts'

/** Where a request comes from, past as many proxies as are trusted. Asked only where a key is bound to networks. */
export interface From {
  readonly ip: string | undefined
}

/** @param until when the caller must be answered, on the clock of `performance.now()`. */
export type Authenticate = (
  authorization: readonly string[],
  from: From,
  until?: number,
) => Promise<Principal>

/**
 * Turns the `Authorization` headers of a request into a principal, or refuses with one and the same 401,
 * whatever is wrong: missing, malformed, doubled, unknown, expired or revoked.
 */
export function createAuthenticate(
  { sessions, touch, touchSession }: Pick<Lookup, 'sessions' | 'touch' | 'touchSession'>,
  secretKeys: FindCredential,
  bootstrapToken: string | null,
): Authenticate {
  const bootstrapDigest = bootstrapToken === null ? null : tokenDigest(bootstrapToken)
  return async (authorization, from, until) => {
    const [header] = authorization
    if (header === undefined) throw unauthenticated('Bearer')
    const token = authorization.length === 1 ? /^bearer ([\x21-\x7e]{1,512})$/i.exec(header)?.[1] : undefined
    if (token === undefined) throw unauthenticated()
    if (!isWellFormedToken(token)) return bootstrapPrincipal(token, bootstrapDigest)
    const digest = tokenDigest(token)
    if (token.startsWith(sessionPrefix)) {
      const session = await sessions.run(digest, until)
      if (session === null || !session.active) throw unauthenticated()
      if (session.stale) touchSession.run(session.id).catch(() => {})
      return personPrincipal(session)
    }
    const key = await secretKeys.run(digest, until)
    if (key === null || !key.active) throw unauthenticated()
    assertFrom(key, from)
    if (key.stale) touch.run({ workspaceId: key.workspaceId, id: key.id }).catch(() => {})
    return keyPrincipal(key)
  }
}

/** The credential is good, so its holder is told what is wrong: somewhere else it would work. */
function assertFrom({ networks, id, workspaceId }: SecretKeyRecord, from: From): void {
  if (networks === null || isInside(networks, from.ip)) return
  throw new Refusal(
    'ip_not_allowed',
    'The address of this request is in none of the allowed_cidrs of the secret key.',
    { caller: { kind: 'secret_key', id, workspaceId } },
  )
}

/** The bootstrap token is the operator's own text, so it has no form to check; it is compared by digest. */
function bootstrapPrincipal(token: string, digest: Buffer | null): Principal {
  if (digest === null || !timingSafeEqual(tokenDigest(token), digest)) throw unauthenticated()
  return {
    ...unlimited,
    kind: 'bootstrap',
    id: null,
    sessionId: null,
    workspaceId: null,
    role: 'owner',
    reach: 'both',
  }
}

const keyPrincipal = (key: SecretKeyRecord): Principal => ({
  kind: 'secret_key',
  id: key.id,
  sessionId: null,
  workspaceId: key.workspaceId,
  role: key.role,
  reach: key.env === 'test' ? 'test' : 'both',
  permissions: key.permissions,
  projectIds: key.projectIds,
  networks: key.networks,
  ...(key.reusableUntil !== undefined && { reusableUntil: key.reusableUntil }),
})

const personPrincipal = ({ id, userId, membership }: SessionRecord): Principal => ({
  ...unlimited,
  kind: 'session',
  id: userId,
  sessionId: id,
  workspaceId: membership?.workspaceId ?? null,
  role: membership?.role ?? 'member',
  reach: 'both',
})

/** RFC 6750 §3.1: no error code when no credential was sent. */
export const unauthenticated = (challenge = 'Bearer error="invalid_token"') =>
  new Refusal('unauthenticated', '', { headers: { 'www-authenticate': challenge } })
