import { timingSafeEqual } from 'node:crypto'
import { isWellFormedToken, tokenDigest } from '../platform/crypto/token.ts'
import { Refusal } from '../platform/refusal.ts'
import type { CredentialRecord, FindCredential, Lookup } from './lookup.ts'
import type { Principal } from './principal.ts'

/** @param until when the caller must be answered, on the clock of `performance.now()`. */
export type Authenticate = (authorization: readonly string[], until?: number) => Promise<Principal>

/**
 * Turns the `Authorization` headers of a request into a principal, or refuses with one and the same 401,
 * whatever is wrong: missing, malformed, doubled, unknown, expired or revoked.
 */
export function createAuthenticate(
  find: FindCredential,
  touch: Lookup['touch'],
  bootstrapToken: string | null,
): Authenticate {
  const bootstrapDigest = bootstrapToken === null ? null : tokenDigest(bootstrapToken)
  return async (authorization, until) => {
    const [header] = authorization
    if (header === undefined) throw unauthenticated('Bearer')
    const token = authorization.length === 1 ? /^bearer ([\x21-\x7e]{1,512})$/i.exec(header)?.[1] : undefined
    if (token === undefined) throw unauthenticated()
    if (!isWellFormedToken(token)) return bootstrapPrincipal(token, bootstrapDigest)
    const record = await find.run(tokenDigest(token), until)
    if (record === null || !record.active) throw unauthenticated()
    if (record.stale) touch.run({ workspaceId: record.workspaceId, id: record.id }).catch(() => {})
    return principalOf(record)
  }
}

/** The bootstrap token is the operator's own text, so it has no form to check; it is compared by digest. */
function bootstrapPrincipal(token: string, digest: Buffer | null): Principal {
  if (digest === null || !timingSafeEqual(tokenDigest(token), digest)) throw unauthenticated()
  return { kind: 'bootstrap', id: null, workspaceId: null, role: 'owner', reach: 'both' }
}

const principalOf = (record: CredentialRecord): Principal => ({
  kind: record.kind,
  id: record.id,
  workspaceId: record.workspaceId,
  role: record.role,
  reach: record.env === 'test' ? 'test' : 'both',
})

/** RFC 6750 §3.1: no error code when no credential was sent. */
const unauthenticated = (challenge = 'Bearer error="invalid_token"') =>
  new Refusal('unauthenticated', '', { headers: { 'www-authenticate': challenge } })
