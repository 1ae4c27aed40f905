import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { promisify } from 'node:util'
import type { Signature } from '../gate/signature.ts'
import type { Clock } from '../platform/clock.ts'
import { parseJson } from '../platform/http/body/json.ts'
import { Refusal } from '../platform/refusal.ts'

/** Reads the document that lists the keys: `{"public_keys": [{"key_identifier", "key"}]}`. */
export type ReadKeys = () => Promise<Uint8Array>

export interface CodehostKeys {
  /**
   * Whether a key with this id exists: if not, the body is not read, because no key can verify it.
   * @throws {Refusal} as `haveSigned`.
   */
  isKnown(keyId: string): Promise<boolean>
  /**
   * Whether a key of the code host signed exactly these bytes.
   * @throws {Refusal} `unavailable` when the keys cannot be read, or were read so recently that this key may be newer.
   */
  haveSigned(bytes: Uint8Array, signature: Signature): Promise<boolean>
}

/** How long keys are cached, how often an unknown id may cause a new read, and when a failed read is retried. */
export const keptMs = 3_600_000
export const unknownIdMs = 60_000
const retryMs = 10_000
/** Maximum number of keys in a document; a code host has one or two. */
const keysMax = 100

type Keys = ReadonlyMap<string, KeyObject>

/**
 * The public keys of the code host. A client without a valid signature can cause at most one read a minute, or one every
 * ten seconds while reads fail; concurrent requests share one read.
 */
export function openCodehostKeys(read: ReadKeys, clock: Pick<Clock, 'monotonic'>): CodehostKeys {
  let known: { keys: Keys; at: number } | null = null
  let tried: { at: number; failed: boolean } | null = null
  let reading: Promise<Keys> | null = null

  const readOnce = (): Promise<Keys> => {
    reading ??= readNow().finally(() => {
      reading = null
    })
    return reading
  }
  const readNow = async (): Promise<Keys> => {
    const at = clock.monotonic()
    if (tried?.failed && at - tried.at < retryMs) throw unreadable()
    tried = { at, failed: true }
    try {
      const keys = keysOf(parseJson(await read()))
      known = { keys, at }
      tried = { at, failed: false }
      return keys
    } catch (error) {
      throw unreadable(error)
    }
  }
  const find = async (keyId: string): Promise<KeyObject | undefined> => {
    const now = clock.monotonic()
    if (known !== null && now - known.at < keptMs) {
      const key = known.keys.get(keyId)
      if (key !== undefined) return key
      if (reading === null && tried !== null && now - tried.at < unknownIdMs) {
        throw new Refusal(
          'unavailable',
          'The signing key is not known yet. Deliver the report again in a minute.',
        )
      }
    }
    return (await readOnce()).get(keyId)
  }
  return {
    isKnown: async keyId => (await find(keyId)) !== undefined,
    async haveSigned(bytes, { keyId, value }) {
      const key = await find(keyId)
      return key !== undefined && (await isSigned(bytes, key, value))
    },
  }
}

/** In a thread of Node, because the hash of 5 MiB, which any client can send, takes ten milliseconds. */
const verifyAside = promisify(verify)

/** The encoding is DER, and OpenSSL accepts only its canonical form. */
async function isSigned(bytes: Uint8Array, key: KeyObject, value: Buffer): Promise<boolean> {
  try {
    return await verifyAside('sha256', bytes, { key, dsaEncoding: 'der' }, value)
  } catch {
    return false
  }
}

/** Skips keys of another kind, which a code host may add one day. */
function keysOf(document: unknown): Keys {
  const listed = (document as { public_keys?: unknown } | null)?.public_keys
  if (!Array.isArray(listed) || listed.length > keysMax) throw new Error('the document lists no keys')
  const keys = new Map<string, KeyObject>()
  for (const entry of listed as ({ key_identifier?: unknown; key?: unknown } | null)[]) {
    const key = typeof entry?.key === 'string' ? readKey(entry.key) : null
    if (typeof entry?.key_identifier === 'string' && key !== null) keys.set(entry.key_identifier, key)
  }
  if (keys.size === 0) throw new Error('the document has no P-256 key')
  return keys
}

function readKey(pem: string): KeyObject | null {
  // Otherwise the library would derive the public key from a private one.
  if (!pem.trimStart().startsWith('-----BEGIN PUBLIC KEY-----')) return null
  try {
    const key = createPublicKey(pem)
    const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isP256 ? key : null
  } catch {
    return null
  }
}

const unreadable = (cause?: unknown) =>
  new Refusal('unavailable', 'The public keys of the code host cannot be read.', { cause })
