/**
 * The form of an issued key: `<prefix>_<live|test>_<32 base62><6 base62>`. The last 6 characters are the CRC-32 (IEEE) of
 * everything before them. So a mistyped, cut or invented key is refused without a hash or look-up, and so is one whose `live`
 * was edited to `test`. The checksum only rules keys out; it does not prove that a key is valid.
 */

export type KeyForm = 'malformed' | 'live' | 'test'

const PREFIX_MIN = 2
const PREFIX_MAX = 16
/** `_live_`, `_test_`. */
const MIDDLE = 6
const RANDOM = 32
const CHECKSUM = 6
const UNDERSCORE = 95

/**
 * Four tables of 256 for four characters at a time ("slicing"). Byte by byte, each step would wait for the one before, at
 * twice the cost.
 */
const crcTables = new Int32Array(1024)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  crcTables[byte] = crc
}
for (let at = 256; at < 1024; at++) {
  const before = crcTables[at - 256] as number
  crcTables[at] = (crcTables[before & 0xff] as number) ^ (before >>> 8)
}

/** The most characters of a key from elsewhere. */
const OTHER_MAX = 512

/** Whether a key from elsewhere may have this form: 1 to 512 visible ASCII characters. */
export function isOtherForm(key: string): boolean {
  if (key.length === 0 || key.length > OTHER_MAX) return false
  for (let at = 0; at < key.length; at++) {
    const character = key.charCodeAt(at)
    if (character < 0x21 || character > 0x7e) return false
  }
  return true
}

/** Value of a character as a base62 digit (`0-9A-Za-z`), -1 for any other. */
const digitOf = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 62; digit++) {
  digitOf['0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charCodeAt(digit)] = digit
}

/**
 * Reads form, checksum and environment. Without regular expressions and substrings, because it runs for every request, on
 * untrusted input.
 */
export function readKeyForm(key: string): KeyForm {
  const randomAt = key.length - (RANDOM + CHECKSUM)
  if (!isLastHead(key, randomAt) && !readHead(key, randomAt)) return 'malformed'

  const checksumAt = randomAt + RANDOM
  let { crc } = lastHead
  // Collects the bits that no base62 digit has: those beyond ASCII, and the sign of a -1.
  let beyond = 0
  let digits = 0
  for (let at = randomAt; at < checksumAt; at += 4) {
    const one = key.charCodeAt(at)
    const two = key.charCodeAt(at + 1)
    const three = key.charCodeAt(at + 2)
    const four = key.charCodeAt(at + 3)
    beyond |= one | two | three | four
    digits |= digit(one) | digit(two) | digit(three) | digit(four)
    crc ^= one | (two << 8) | (three << 16) | (four << 24)
    crc =
      (crcTables[768 + (crc & 0xff)] as number) ^
      (crcTables[512 + ((crc >>> 8) & 0xff)] as number) ^
      (crcTables[256 + ((crc >>> 16) & 0xff)] as number) ^
      (crcTables[crc >>> 24] as number)
  }
  let stated = 0
  for (let at = checksumAt; at < checksumAt + CHECKSUM; at++) {
    const character = key.charCodeAt(at)
    const value = digit(character)
    beyond |= character
    digits |= value
    stated = stated * 62 + value
  }
  return beyond < 128 && digits >= 0 && stated === ~crc >>> 0 ? lastHead.env : 'malformed'
}

const digit = (character: number): number => digitOf[character & 127] as number

/**
 * The part before the random characters, such as `kr_live_`, of the last key. Nearly all keys of a process share it, and
 * comparing costs half as much as reading.
 */
const lastHead = {
  length: 0,
  env: 'malformed' as KeyForm,
  crc: 0,
  codes: new Uint8Array(PREFIX_MAX + MIDDLE),
}

function isLastHead(key: string, length: number): boolean {
  if (length !== lastHead.length) return false
  const { codes } = lastHead
  for (let at = 0; at < length; at++) if (key.charCodeAt(at) !== codes[at]) return false
  return true
}

/** Whether a key begins with a valid head. If so, it becomes the last head. */
function readHead(key: string, length: number): boolean {
  const prefixLength = length - MIDDLE
  if (prefixLength < PREFIX_MIN || prefixLength > PREFIX_MAX) return false
  const env = envAt(key, prefixLength)
  if (env === 'malformed' || !isPrefix(key, prefixLength)) return false
  let crc = -1
  for (let at = 0; at < length; at++) {
    const character = key.charCodeAt(at)
    lastHead.codes[at] = character
    crc = (crcTables[(crc ^ character) & 0xff] as number) ^ (crc >>> 8)
  }
  lastHead.length = length
  lastHead.env = env
  lastHead.crc = crc
  return true
}

function envAt(key: string, at: number): KeyForm {
  if (key.charCodeAt(at) !== UNDERSCORE || key.charCodeAt(at + 5) !== UNDERSCORE) return 'malformed'
  if (isWord(key, at + 1, 108, 105, 118, 101)) return 'live'
  return isWord(key, at + 1, 116, 101, 115, 116) ? 'test' : 'malformed'
}

const isWord = (key: string, at: number, one: number, two: number, three: number, four: number): boolean =>
  key.charCodeAt(at) === one &&
  key.charCodeAt(at + 1) === two &&
  key.charCodeAt(at + 2) === three &&
  key.charCodeAt(at + 3) === four

/** `[a-z][a-z0-9]*` up to `length`. */
function isPrefix(key: string, length: number): boolean {
  for (let at = 0; at < length; at++) {
    const character = key.charCodeAt(at)
    const letter = character >= 97 && character <= 122
    if (!letter && (at === 0 || character < 48 || character > 57)) return false
  }
  return true
}
