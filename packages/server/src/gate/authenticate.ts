import { timingSafeEqual } from 'node:crypto'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { isWellFormedToken, sessionPrefix, tokenDigest } from '../platform/crypto/token.ts'
import { isInside } from '../platform/network/cidr.ts'
import { Refusal } from '../platform/refusal.ts'
import { readBearer } from './bearer.ts'
import type { Lookup, SecretKeyRecord, SessionRecord } from './lookup.ts'
import { type Principal, unlimited } from './principal.ts'

/** What a credential may need beside itself: the request that brought it. */
export interface From {
  /** The client address, behind the trusted proxies. Evaluated only for keys that are bound to networks. */
  readonly ip: string | undefined
  /** Path and query, as they were sent. */
  readonly url?: string
}

/** Finds the record of the secret key of a request by its digest. */
export interface FindKey {
  /** A record that needs no look-up, if there is one. */
  known?(digest: Buffer): SecretKeyRecord | null
  run(digest: Buffer, deadline: Deadline | undefined, from: From): Promise<SecretKeyRecord | null>
}

/** Longer than any session, secret key or bootstrap token, which are hashed. */
const tokenMax = 512

export type Authenticate = (
  authorization: readonly string[],
  from: From,
  deadline?: Deadline,
) => Promise<Principal>

/**
 * Turns the `Authorization` headers of a request into a principal, or refuses with the same 401 for every fault: missing,
 * malformed, duplicated, unknown, expired or revoked.
 */
export function createAuthenticate(
  { sessions, touch, touchSession }: Pick<Lookup, 'sessions' | 'touch' | 'touchSession'>,
  secretKeys: FindKey,
  bootstrapToken: string | null,
): Authenticate {
  const bootstrapDigest = bootstrapToken === null ? null : tokenDigest(bootstrapToken)
  return async (authorization, from, deadline) => {
    if (authorization.length === 0) throw unauthenticated('Bearer')
    const token = readBearer(authorization)
    if (token === undefined || token.length > tokenMax) throw unauthenticated()
    if (!isWellFormedToken(token)) return bootstrapPrincipal(token, bootstrapDigest)
    const digest = tokenDigest(token)
    if (token.startsWith(sessionPrefix)) {
      const session = await sessions.run(digest, deadline)
      if (session === null || !session.active) throw unauthenticated()
      if (session.stale) touchSession.run(session.id).catch(() => {})
      return personPrincipal(session)
    }
    const key = secretKeys.known?.(digest) ?? (await secretKeys.run(digest, deadline, from))
    if (key === null || !key.active) throw unauthenticated()
    assertFrom(key, from)
    if (key.stale) touch.run({ workspaceId: key.workspaceId, id: key.id }).catch(() => {})
    return keyPrincipal(key)
  }
}

/** The credential is valid, so the refusal may say what is wrong: from another address it works. */
function assertFrom({ networks, id, workspaceId }: SecretKeyRecord, from: From): void {
  if (networks === null || isInside(networks, from.ip)) return
  throw new Refusal('ip_not_allowed', 'The client address is not in the allowed_cidrs of the secret key.', {
    caller: { kind: 'secret_key', id, workspaceId },
  })
}

/** The operator chooses the bootstrap token freely, so it has no format to check. It is compared by digest. */
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

/** One for each record, which many requests share: those of one batch, or all while it is kept. */
const principals = new WeakMap<SecretKeyRecord, Principal>()

function keyPrincipal(key: SecretKeyRecord): Principal {
  const made = principals.get(key)
  if (made !== undefined) return made
  const principal = toPrincipal(key)
  principals.set(key, principal)
  return principal
}

const toPrincipal = (key: SecretKeyRecord): Principal => ({
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
  ...(key.readHead !== undefined && { readHead: key.readHead }),
})

const personPrincipal = ({ id, userId, membership, isUnproven, isVerified }: SessionRecord): Principal => ({
  ...unlimited,
  kind: 'session',
  id: userId,
  sessionId: id,
  workspaceId: membership?.workspaceId ?? null,
  role: membership?.role ?? 'member',
  reach: 'both',
  ...(!isVerified && { isUnverified: true }),
  ...(isUnproven && { isUnproven: true }),
})

/** RFC 6750 §3.1: no error code when no credential was sent. */
export const unauthenticated = (challenge = 'Bearer error="invalid_token"') =>
  new Refusal('unauthenticated', '', { headers: { 'www-authenticate': challenge } })
