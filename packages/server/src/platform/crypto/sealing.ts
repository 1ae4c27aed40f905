/**
 * Secrets. `token.ts` draws credentials, `mailed-token.ts` the tokens of links; `password.ts` hashes in `password-worker.ts`,
 * `weak-passwords.ts` refuses. `sealing.ts` encrypts with `encryption-keys.ts`, `signing-keys.ts` has the keys that sign embed
 * tokens.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { type EncryptionKey, encryptionKeyBytes, keyIdBytes } from './encryption-keys.ts'

/** The place of a sealed value. The value opens only with the same place. */
interface SealedPlace {
  readonly table: string
  readonly column: string
  /** The row's primary key, as text. */
  readonly row: string
}

/** Seals secrets that must be read again: AES-256-GCM, with a separate data key for each value. */
export interface Sealing {
  /** The ids of the keys that open; the first key seals. */
  readonly keyIds: readonly string[]
  seal(place: SealedPlace, plain: Buffer): Buffer
  /**
   * @throws {UnknownKey} if none of the keys has sealed the value.
   * @throws {SealBroken} if the value was changed, or is in another place.
   */
  open(place: SealedPlace, sealed: Buffer): Buffer
}

export class UnknownKey extends Error {
  override name = 'UnknownKey'
}

export class SealBroken extends Error {
  override name = 'SealBroken'
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const formatVersion = 1

/**
 * A sealed value, by offset: the version of the format; the id of the master key; the data key, sealed by the
 * master key; the value, sealed by the data key. Each sealed part is a nonce, the ciphertext and its tag.
 */
const keyIdAt = 1
const dataKeyAt = keyIdAt + keyIdBytes
const valueAt = dataKeyAt + nonceBytes + encryptionKeyBytes + tagBytes
/** SQL for the id of a sealed value's master key. */
export const keyIdSql = (column: string) => `encode(substr(${column}, ${keyIdAt + 1}, ${keyIdBytes}), 'hex')`

/** @param keys at least one key. */
export function openSealing(keys: readonly EncryptionKey[], randomBytes: (size: number) => Buffer): Sealing {
  const [first] = keys
  if (first === undefined) throw new Error('no encryption key is given')
  const encrypt = (key: Buffer, plain: Buffer, bound: Buffer): Buffer => {
    const nonce = randomBytes(nonceBytes)
    const running = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(bound)
    const text = Buffer.concat([running.update(plain), running.final()])
    return Buffer.concat([nonce, text, running.getAuthTag()])
  }
  return {
    keyIds: keys.map(({ id }) => id),
    seal(place, plain) {
      const dataKey = randomBytes(encryptionKeyBytes)
      const sealed = Buffer.concat([
        Buffer.of(formatVersion),
        Buffer.from(first.id, 'hex'),
        encrypt(first.key, dataKey, boundTo(place, 'key')),
        encrypt(dataKey, plain, boundTo(place, 'value')),
      ])
      dataKey.fill(0)
      return sealed
    },
    open(place, sealed) {
      const id = sealed.toString('hex', keyIdAt, dataKeyAt)
      if (sealed[0] !== formatVersion || sealed.length < valueAt + nonceBytes + tagBytes) {
        throw new SealBroken(`${nameOf(place)} is sealed in an unknown format`)
      }
      const master = keys.find(key => key.id === id)
      if (master === undefined) {
        throw new UnknownKey(`${nameOf(place)} is sealed with the encryption key ${id}, which is not given`)
      }
      try {
        const dataKey = decrypt(master.key, sealed.subarray(dataKeyAt, valueAt), boundTo(place, 'key'))
        return decrypt(dataKey, sealed.subarray(valueAt), boundTo(place, 'value'))
      } catch (cause) {
        throw new SealBroken(`${nameOf(place)} does not open: it was changed, or moved from another row`, {
          cause,
        })
      }
    },
  }
}

function decrypt(key: Buffer, sealed: Buffer, bound: Buffer): Buffer {
  const end = sealed.length - tagBytes
  const running = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(bound)
    .setAuthTag(sealed.subarray(end))
  return Buffer.concat([running.update(sealed.subarray(nonceBytes, end)), running.final()])
}

/** JSON, so that no two places have the same text. */
const boundTo = ({ table, column, row }: SealedPlace, what: 'key' | 'value') =>
  Buffer.from(JSON.stringify(['keyrail sealed', formatVersion, what, table, column, row]))

const nameOf = ({ table, column, row }: SealedPlace) => `${table}.${column} of ${row}`
