import { hash, verify as verifySignature } from 'node:crypto'
import type { Jwks } from '@keyrail/contract/embed'
import type { Env } from '@keyrail/contract/shared'
import { LRUCache } from 'lru-cache'
import { validate as isUuid } from 'uuid'
import type { EmbedClaims } from '../gate/authenticate-embed.ts'
import type { Clock } from '../platform/clock.ts'
import { headerOf, type SigningKeys } from '../platform/crypto/signing-keys.ts'

export interface EmbedTokens {
  mint(claims: EmbedClaims): Promise<string>
  /** The length of a token with these claims, in characters, without signing one. */
  lengthOf(claims: EmbedClaims): Promise<number>
  /** @returns the claims of a token that one of the service's keys signed, else null. It does not check the expiry. */
  verify(token: string): Promise<EmbedClaims | null>
  published(): Promise<Jwks>
}

/** The lifetime of a token, in seconds. A token with a longer one is invalid, even with a valid signature. */
export const tokenLifeS = 300
/** Maximum length in characters. A browser's other headers must fit into 16 KiB beside it. */
export const tokenLengthMax = 14_336

const audience = 'embed'
/** The size of an ES256 signature: two numbers of 256 bits. */
const signatureBytes = 64
/** How long a verified signature is remembered, in ms. `gate/authenticate-embed` checks everything else each time. */
const rememberedMs = 1_000
/** Maximum total length of the remembered tokens, in characters. */
const rememberedLength = 8 * 1_024 * 1_024

/** @param issuer the public URL of the service. Tokens of another issuer are invalid. */
export function openEmbedTokens(keys: SigningKeys, issuer: string, clock: Clock): EmbedTokens {
  const verified = new LRUCache<string, { claims: EmbedClaims; until: number }>({ maxSize: rememberedLength })
  return {
    async mint(claims) {
      const { SignJWT } = await import('jose')
      const { kid, privateKey } = await keys.signer()
      return await new SignJWT(toPayload(claims))
        .setProtectedHeader(headerOf(kid))
        .setIssuer(issuer)
        .setAudience(audience)
        .sign(privateKey)
    },
    async lengthOf(claims) {
      const { header } = await keys.signer()
      const payload = JSON.stringify({ ...toPayload(claims), iss: issuer, aud: audience })
      return (
        `${header}..`.length + base64urlLength(Buffer.byteLength(payload)) + base64urlLength(signatureBytes)
      )
    },
    async verify(token) {
      const name = hash('sha256', token, 'base64')
      const known = verified.get(name)
      const now = clock.monotonic()
      if (known !== undefined && now < known.until) return known.claims
      const claims = await verify(keys, issuer, token)
      if (claims !== null) verified.set(name, { claims, until: now + rememberedMs }, { size: token.length })
      return claims
    },
    published: () => keys.published(),
  }
}

const base64urlLength = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/**
 * Accepts only a header that the service itself writes, so that a token cannot choose its algorithm, its key or where to
 * fetch the key. Several texts decode to one signature; only the canonical one is valid.
 */
async function verify(keys: SigningKeys, issuer: string, token: string): Promise<EmbedClaims | null> {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  if (rest.length > 0 || bytes.length !== signatureBytes || bytes.toString('base64url') !== signature)
    return null
  const key = await keys.withHeader(header)
  if (key === null) return null
  const signed = Buffer.from(`${header}.${payload}`, 'latin1')
  // Not with jose: its detour through Web Crypto and threads costs half as much again as the verification itself.
  // RFC 7518 §3.4: the two numbers of the signature side by side.
  const publicKey = { key: key.publicKey, dsaEncoding: 'ieee-p1363' } as const
  if (!verifySignature('sha256', signed, publicKey, bytes)) return null
  const { decodeJwt, errors } = await import('jose')
  try {
    return readClaims(decodeJwt<Unread>(token), issuer)
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

/**
 * Accepts signed claims only if the service could have written them: a thief of the signing key gets no longer lifetime
 * and cannot pass unexpected values to the database. The database judges the expiry by its clock, with everything else
 * that may have changed.
 */
function readClaims(payload: Unread, issuer: string): EmbedClaims | null {
  return payload.iss === issuer && payload.aud === audience && isPayload(payload) ? toClaims(payload) : null
}

type Unread = { readonly [name in keyof Payload]?: unknown }

const isPayload = (payload: Unread): payload is Payload =>
  [payload.sub, payload.wid, payload.pid, payload.mby, payload.jti].every(id => isUuid(id)) &&
  (payload.env === 'live' || payload.env === 'test') &&
  isTexts(payload.scope) &&
  (payload.org === undefined || isTexts(payload.org)) &&
  isWhole(payload.ep) &&
  isWhole(payload.iat) &&
  isWhole(payload.exp) &&
  payload.exp - payload.iat <= tokenLifeS

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(one => typeof one === 'string')

interface Payload {
  iss: string
  aud: string
  jti: string
  wid: string
  sub: string
  pid: string
  mby: string
  env: Env
  scope: string[]
  org?: string[]
  ep: number
  iat: number
  exp: number
}

const toPayload = (claims: EmbedClaims) => ({
  sub: claims.tenantId,
  wid: claims.workspaceId,
  pid: claims.projectId,
  mby: claims.mintedBy,
  env: claims.env,
  scope: [...claims.scopes],
  ...(claims.origins !== null && { org: [...claims.origins] }),
  ep: claims.epoch,
  jti: claims.id,
  iat: claims.issuedAt,
  exp: claims.expiresAt,
})

const toClaims = (payload: Payload): EmbedClaims => ({
  id: payload.jti,
  workspaceId: payload.wid,
  tenantId: payload.sub,
  projectId: payload.pid,
  mintedBy: payload.mby,
  env: payload.env,
  scopes: payload.scope,
  origins: payload.org ?? null,
  epoch: payload.ep,
  issuedAt: payload.iat,
  expiresAt: payload.exp,
})
