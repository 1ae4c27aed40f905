import { hash, verify as verifySignature } from 'node:crypto'
import type { Jwks } from '@keyrail/contract/embed'
import type { Env } from '@keyrail/contract/shared'
import { LRUCache } from 'lru-cache'
import { validate as isUuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { toDer } from './ecdsa-der.ts'
import { headerOf, type SigningKeys } from './signing-keys.ts'

/** What an embed token says. Whether it still holds is the store's to tell. */
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

export interface EmbedTokens {
  mint(claims: EmbedClaims): Promise<string>
  /** How many characters a token of these claims has. None is signed for it. */
  lengthOf(claims: EmbedClaims): Promise<number>
  /** What a token says that one of our keys has signed; null for every other text. What time it is has no say. */
  verify(token: string): Promise<EmbedClaims | null>
  published(): Promise<Jwks>
}

/** How long a token lives, in seconds. One that says that it lives longer is not ours, whoever signed it. */
export const tokenLifeS = 300
/**
 * How far ahead of the store's clock a token may have been minted, in seconds: a store that takes over from another may
 * be behind it.
 */
export const clockSlackS = 60
/** Of a token in characters, so that the header that carries it leaves room for a browser's others, of 16 KiB. */
export const tokenLengthMax = 14_336

const audience = 'embed'
/** Of ES256: two numbers of 256 bits. */
const signatureBytes = 64
/** How long it is remembered that a token's signature holds, in ms. Nothing else of it is: see `gate/authenticate-embed`. */
const rememberedMs = 1_000
/** Characters of tokens that are remembered. */
const rememberedLength = 8 * 1_024 * 1_024

/** @param issuer the public address of the service. Tokens of another one are nobody's. */
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
 * Only a header that we would have written ourselves is looked at, so that no token has a say in its algorithm, its
 * key or where that is to be had. Of the texts that decode to one signature one is taken.
 */
async function verify(keys: SigningKeys, issuer: string, token: string): Promise<EmbedClaims | null> {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  if (rest.length > 0 || bytes.length !== signatureBytes || bytes.toString('base64url') !== signature)
    return null
  const key = await keys.withHeader(header)
  if (key === null) return null
  const signed = Buffer.from(`${header}.${payload}`, 'latin1')
  // Not by jose, whose way through Web Crypto and its threads costs half as much again as the verification itself.
  if (!verifySignature('sha256', signed, key.publicKey, toDer(bytes))) return null
  const { decodeJwt, errors } = await import('jose')
  try {
    return readClaims(decodeJwt<Unread>(token), issuer)
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}

/**
 * What one of our keys has signed is an embed token only if we could have written it: whoever has stolen a key gets no
 * longer life by it, and no value where the store expects another. The store's clock judges expiry, with all else that
 * may have changed.
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
