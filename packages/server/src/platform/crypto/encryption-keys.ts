import { hash } from 'node:crypto'

/** A master key. It seals the data keys, and never the data itself. */
export interface EncryptionKey {
  /** Identifies the key without revealing its bytes; every value that the key has sealed contains it. */
  readonly id: string
  /** Bytes, so that they can be sent to the process that listens. */
  readonly key: Buffer
}

export const encryptionKeyBytes = 32
/** The length of a key's id. The id shows which key a value needs, also when that key is missing. */
export const keyIdBytes = 8

/** A key with fewer distinct bytes is not random: it would occur once in 10^17 keys of 32 random bytes. */
const distinctBytesMin = 16
/** In the order in which the forms are tried. Only 64 hexadecimal digits have that length. */
const spellings = [
  { encoding: 'hex', form: /^[0-9a-f]{64}$/i },
  { encoding: 'base64', form: /^[A-Za-z0-9+/]{43}=?$/ },
  { encoding: 'base64url', form: /^[A-Za-z0-9_-]{43}=?$/ },
] as const

/**
 * Reads master keys. The first key seals, and every key opens.
 * @param text keys with commas or white space between them.
 * @returns the keys, and the faults of the invalid ones, without quoting them.
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
      if (keys.some(({ id }) => id === one.id)) faults.push(`${which} is given twice`)
      keys.push(one)
    }
  })
  return { keys, faults }
}

/** A new key as text for a file or a setting. */
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
