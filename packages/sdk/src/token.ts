/**
 * The form of an issued key: `<prefix>_<live|test>_<32 base62><6 base62>`. The last 6 characters are the CRC-32
 * (IEEE) of everything before them, so a mistyped, cut or invented key is refused without a hash or a look-up,
 * and so is one whose `live` was edited to `test`. A checksum is no proof: it only tells what cannot be a key.
 */

export type KeyForm = 'malformed' | 'live' | 'test'

const PREFIX_MIN = 2
const PREFIX_MAX = 16
const RANDOM = 32
const CHECKSUM = 6
/** `_live_` and the characters behind it: what every key ends with. */
const TAIL = 6 + RANDOM + CHECKSUM
const UNDERSCORE = 95

const crcTable = new Int32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  crcTable[byte] = crc
}

/** Value of a character as a base62 digit (`0-9A-Za-z`), -1 for any other. */
const digitOf = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 62; digit++) {
  digitOf['0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charCodeAt(digit)] = digit
}

/**
 * Reads form, checksum and environment. No regular expression and no substring: this runs for every request,
 * and on whatever a stranger sends.
 */
export function readKeyForm(key: string): KeyForm {
  const prefixLength = key.length - TAIL
  if (prefixLength < PREFIX_MIN || prefixLength > PREFIX_MAX) return 'malformed'
  const env = envAt(key, prefixLength)
  if (env === 'malformed' || !isPrefix(key, prefixLength)) return 'malformed'

  let crc = -1
  for (let at = 0; at < prefixLength + 6; at++) {
    crc = (crcTable[(crc ^ key.charCodeAt(at)) & 0xff] as number) ^ (crc >>> 8)
  }
  const checksumAt = key.length - CHECKSUM
  for (let at = prefixLength + 6; at < checksumAt; at++) {
    const character = key.charCodeAt(at)
    if (character > 127 || (digitOf[character] as number) < 0) return 'malformed'
    crc = (crcTable[(crc ^ character) & 0xff] as number) ^ (crc >>> 8)
  }

  let stated = 0
  for (let at = checksumAt; at < key.length; at++) {
    const character = key.charCodeAt(at)
    if (character > 127) return 'malformed'
    const digit = digitOf[character] as number
    if (digit < 0) return 'malformed'
    stated = stated * 62 + digit
  }
  return stated === ~crc >>> 0 ? env : 'malformed'
}

function envAt(key: string, at: number): KeyForm {
  if (key.charCodeAt(at) !== UNDERSCORE || key.charCodeAt(at + 5) !== UNDERSCORE) return 'malformed'
  if (key.startsWith('live', at + 1)) return 'live'
  return key.startsWith('test', at + 1) ? 'test' : 'malformed'
}

/** `[a-z][a-z0-9]*` up to `length`. */
function isPrefix(key: string, length: number): boolean {
  for (let at = 0; at < length; at++) {
    const character = key.charCodeAt(at)
    const letter = character >= 97 && character <= 122
    if (!letter && (at === 0 || character < 48 || character > 57)) return false
  }
  return true
}
