import { hash } from 'node:crypto'

/** A master key: it seals the keys of the data, and never the data itself. */
export interface EncryptionKey {
  /** Tells the key and nothing of its bytes; it stands in all that the key has sealed. */
  readonly id: string
  /** Bytes, so that the process that listens can be sent them. */
  readonly key: Buffer
}

export const encryptionKeyBytes = 32
/** Of a key's id, so that a value can be told to be sealed by a key that is not given. */
export const keyIdBytes = 8

/** Of 32 random bytes fewer are different once in 10^17 keys. */
const distinctBytesMin = 16
/** In the order in which they are tried. Only 64 hexadecimal digits have that length. */
const spellings = [
  { encoding: 'hex', form: /^[0-9a-f]{64}$/i },
  { encoding: 'base64', form: /^[A-Za-z0-9+/]{43}=?$/ },
  { encoding: 'base64url', form: /^[A-Za-z0-9_-]{43}=?$/ },
] as const

/**
 * Reads master keys, the first of which seals and all of which open.
 * @param text keys with commas or white space between them.
 * @returns the keys, and what is wrong with those that are none; it quotes none of them.
 */
export function readEncryptionKeys(text: string): { keys: EncryptionKey[]; faults: string[] } {
  const words = text.split(/[\s,]+/).filter(word => word !== '')
  const keys: EncryptionKey[] = []
  const faults: string[] = []
  words.forEach((word, i) => {
    const which = words.length === 1 ? 'the key' : `key ${i + 1} of ${words.length}`
    const bytes = decode(word)
    if (bytes === null) {
      faults.push(`${which} must be ${encryptionKeyBytes} bytes in base64 or hexadecimal`)
    } else if (new Set(bytes).size < distinctBytesMin) {
      faults.push(`${which} is not random`)
    } else {
      const one = toEncryptionKey(bytes)
      if (keys.some(({ id }) => id === one.id)) faults.push(`${which} stands there twice`)
      keys.push(one)
    }
  })
  return { keys, faults }
}

/** As it is written into a file or a setting. */
export const drawEncryptionKey = (randomBytes: (size: number) => Buffer): string =>
  randomBytes(encryptionKeyBytes).toString('base64')

function decode(word: string): Buffer | null {
  const encoding = spellings.find(({ form }) => form.test(word))?.encoding
  if (encoding === undefined) return null
  const bytes = Buffer.from(word, encoding)
  const again = bytes.toString(encoding).replace(/=+$/, '')
  const isWhole = encoding === 'hex' ? again === word.toLowerCase() : again === word.replace(/=+$/, '')
  return isWhole && bytes.length === encryptionKeyBytes ? bytes : null
}

const toEncryptionKey = (bytes: Buffer): EncryptionKey => ({
  id: hash('sha256', Buffer.concat([Buffer.from('keyrail encryption key\n'), bytes]), 'hex').slice(
    0,
    keyIdBytes * 2,
  ),
  key: bytes,
})
