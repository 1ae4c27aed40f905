import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Env } from '@keyrail/contract/shared'

/**
 * The form of every credential: `<prefix>_<32 base62><6 base62>`. The 32 characters are 190 random bits. The
 * last 6 are the CRC-32 of everything before them, so that a mistyped or invented credential, or one whose
 * `live` was edited to `test`, is refused without a look-up.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 32
const shape = /^[a-z][a-z0-9]{1,15}(?:_(?:live|test))?_[0-9A-Za-z]{38}$/

/** Matches anything in a text that may be a credential, to redact it. */
export const tokensIn = /[a-z][a-z0-9]{1,15}(?:_(?:live|test))?_[0-9A-Za-z]{38}/g

/** The beginning of every session's token. */
export const sessionPrefix = 'krses_'

/** The beginning of every secret key. */
export const secretKeyPrefix = 'krsk_'

/** Draws a new credential. `prefix` is everything before the last underscore, such as `krsk_live`. */
export function drawToken(prefix: string, randomBytes: (size: number) => Buffer): string {
  const body = `${prefix}_${randomBase62(randomLength, randomBytes)}`
  return body + checksum(body)
}

/** Whether a string has the form and the checksum of a credential. It may still be unknown or revoked. */
export function isWellFormedToken(token: string): boolean {
  return shape.test(token) && checksum(token.slice(0, -6)) === token.slice(-6)
}

/** The end of an API key or a secret key; a session has no environment. */
const withEnv = /_(live|test)_[0-9A-Za-z]{38}$/

/** The environment in an API key's text; null when the text cannot be one, because of its form or its checksum. */
export function envOfKey(text: string): Env | null {
  const [, env] = withEnv.exec(text) ?? []
  return env !== undefined && isWellFormedToken(text) ? (env as Env) : null
}

const anyForm = /^[!-~]{1,512}$/

/** Whether a text can be a key from another system: visible ASCII characters. */
export const hasFormOfImported = (text: string): boolean => anyForm.test(text)

/** SHA-256 of the whole credential: the form in which a credential is stored, found and compared. */
export const tokenDigest = (token: string): Buffer => hash('sha256', token, 'buffer')

/** The visible part of a credential: its prefix and the first 4 of its random characters. */
export const displayPrefix = (token: string): string => token.slice(0, token.lastIndexOf('_') + 5)

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  while (text.length < 6) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** Discards bytes of 248 and above: 248 is the last multiple of 62, and the bytes above would favour some characters. */
function randomBase62(length: number, randomBytes: (size: number) => Buffer): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}
