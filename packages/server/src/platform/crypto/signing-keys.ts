import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Jwks } from '@keyrail/contract/embed'
import type { Clock } from '../clock.ts'
import { type NewSigningKey, readAgainS, readSigningKeys } from '../db/sealed/signing-keys.ts'
import type { SealedStore } from '../db/sealed/store.ts'

/** The only algorithm. The algorithm that a token names is ignored. */
const algorithm = 'ES256'
const tokenType = 'embed+jwt'

type Jwk = Jwks['keys'][number]

interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** The protected header of the key's tokens, as encoded in them. */
  readonly header: string
}

/** The keys that sign embed tokens, the same in every process. */
export interface SigningKeys {
  /** The key that signs now. */
  signer(): Promise<SigningKey>
  /** The key whose tokens begin with this header; null if no key of ours has this header. */
  withHeader(header: string): Promise<SigningKey | null>
  published(): Promise<Jwks>
}

interface HeldKey extends SigningKey {
  readonly jwk: Jwk
  /** By the monotonic clock of this process. */
  readonly signsAt: number
  readonly endsAt: number
}

interface HeldSet {
  readonly readAt: number
  readonly keys: readonly HeldKey[]
}

/**
 * The first request that finds a set of this age causes a new read, without waiting for it; from `readAgainS` on requests wait.
 */
const freshMs = (readAgainS * 1_000) / 3
/** How often an unknown header may cause a read, in ms. */
const askAgainMs = 1_000

/** @param pem the operator's keys, of which the first signs; null: the keys in the database. */
export function openSigningKeys(store: SealedStore, pem: string | null, clock: Clock): SigningKeys {
  let held: HeldSet | null = null
  let reading: Promise<HeldSet> | null = null

  const read = (): Promise<HeldSet> => {
    reading ??= (pem === null ? readStored(store, clock) : readPem(pem, clock))
      .then(set => {
        held = set
        return set
      })
      .finally(() => {
        reading = null
      })
    return reading
  }
  const current = async (): Promise<HeldSet> => {
    if (held === null) return await read()
    const age = clock.monotonic() - held.readAt
    if (pem !== null || age < freshMs) return held
    const next = read()
    if (age >= readAgainS * 1_000) return await next
    // The database is away: the next request reads again.
    next.catch(() => {})
    return held
  }
  const alive = ({ keys }: HeldSet) => keys.filter(({ endsAt }) => clock.monotonic() < endsAt)

  return {
    async signer() {
      const now = clock.monotonic()
      const set = alive(await current())
      const signing = set.findLast(({ signsAt }) => signsAt <= now) ?? set[0]
      if (signing === undefined) throw new Error('there is no key to sign with')
      return signing
    },
    async withHeader(header) {
      const find = (set: HeldSet) => alive(set).find(key => key.header === header) ?? null
      const set = await current()
      const found = find(set)
      if (found !== null || pem !== null || clock.monotonic() - set.readAt < askAgainMs) return found
      return find(await read())
    },
    async published() {
      return { keys: alive(await current()).map(({ jwk }) => jwk) }
    },
  }
}

async function readStored(store: SealedStore, clock: Clock): Promise<HeldSet> {
  const stored = await readSigningKeys(store, makeSigningKey)
  // Measured after the answer arrived, so that a key never signs too early by the time that the read took.
  const readAt = clock.monotonic()
  const keys = stored.map(async ({ privateKey, signsInMs, endsInMs }) => ({
    ...(await toSigningKey(createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }))),
    signsAt: readAt + signsInMs,
    endsAt: endsInMs === null ? Number.POSITIVE_INFINITY : readAt + endsInMs,
  }))
  return { readAt, keys: await Promise.all(keys) }
}

async function readPem(pem: string, clock: Clock): Promise<HeldSet> {
  const never = Number.POSITIVE_INFINITY
  const keys = privateKeysOf(pem).map(async (privateKey, i) => ({
    ...(await toSigningKey(privateKey)),
    signsAt: i === 0 ? Number.NEGATIVE_INFINITY : never,
    endsAt: never,
  }))
  return { readAt: clock.monotonic(), keys: await Promise.all(keys) }
}

const block = /-----BEGIN ((?:EC )?PRIVATE KEY)-----[^-]*-----END \1-----/g

export function isSigningPem(pem: string): boolean {
  try {
    return privateKeysOf(pem).length > 0
  } catch {
    return false
  }
}

/** @throws if the text has no key, or a key of another kind. */
function privateKeysOf(pem: string): KeyObject[] {
  const keys = [...pem.matchAll(block)].map(([text]) => createPrivateKey(text))
  const isOurs = (key: KeyObject) => key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  if (keys.length === 0 || !keys.every(isOurs)) throw new Error('not a P-256 private key')
  return keys
}

/** The library draws the key itself and accepts no other source of randomness. */
export async function makeSigningKey(): Promise<NewSigningKey> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kid } = await toSigningKey(privateKey)
  return { kid, privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }) }
}

async function toSigningKey(privateKey: KeyObject): Promise<SigningKey & { jwk: Jwk }> {
  const { calculateJwkThumbprint } = await import('jose')
  const publicKey = createPublicKey(privateKey)
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint({ kty: 'EC', crv: 'P-256', x, y })
  return {
    kid,
    privateKey,
    publicKey,
    header: Buffer.from(JSON.stringify(headerOf(kid))).toString('base64url'),
    jwk: { kty: 'EC', crv: 'P-256', x, y, kid, alg: algorithm, use: 'sig' },
  }
}

export const headerOf = (kid: string) => ({ alg: algorithm, typ: tokenType, kid })
