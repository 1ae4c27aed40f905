/**
 * Reads IP addresses without Node, which workers do not have, and without making objects, because a key with networks is
 * compared with one in each verification.
 */

/** The address that was read last: an IPv4 address in the first word, an IPv6 address in all four. */
export const addressWords = new Int32Array(4)

/** IPv4, IPv6, or no address. */
export type Family = 4 | 6 | 0

/** The longest IPv6 address, with an IPv4 address at its end. */
const IPV6_LENGTH_MAX = 45
const GROUPS = 8
const [DOT, COLON, PERCENT, SLASH] = [46, 58, 37, 47]

/**
 * Reads an address into `addressWords`. An IPv4-mapped IPv6 address is the IPv4 address, and a zone is dropped. Nothing may
 * stand around the address: no space, port or bracket.
 */
export function readAddress(text: string): Family {
  const zoneAt = text.indexOf('%')
  if (zoneAt === -1) return readPlain(text, text.length)
  // Only an IPv6 address has a zone.
  const colonAt = text.indexOf(':')
  return colonAt !== -1 && colonAt < zoneAt && isZone(text, zoneAt + 1) ? readPlain(text, zoneAt) : 0
}

/** Reads an address that ends before `end`, without a zone. */
export function readPlain(text: string, end: number): Family {
  if (text.indexOf(':') === -1) {
    const ipv4 = readIpv4(text, 0, end)
    addressWords[0] = ipv4
    return ipv4 === -1 ? 0 : 4
  }
  if (end > IPV6_LENGTH_MAX || !readIpv6(text, end)) return 0
  if (!isMapped()) return 6
  addressWords[0] = addressWords[3] as number
  return 4
}

/** Whether the IPv6 address that was read is an IPv4-mapped one, `::ffff:192.0.2.1`. */
const isMapped = (): boolean => addressWords[0] === 0 && addressWords[1] === 0 && addressWords[2] === 0xffff

function isZone(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character <= 32 || character >= 127 || character === PERCENT || character === SLASH) return false
  }
  return from < text.length
}

/** @returns the address as a number; -1 if it is none. A number with a leading zero is octal to some programs, so it is none */
function readIpv4(text: string, from: number, end: number): number {
  let address = 0
  let byte = 0
  let digits = 0
  let dots = 0
  for (let at = from; at < end; at++) {
    const character = text.charCodeAt(at)
    if (character === DOT) {
      if (digits === 0 || ++dots === 4) return -1
      address = address * 256 + byte
      byte = 0
      digits = 0
      continue
    }
    if (character < 48 || character > 57 || (digits > 0 && byte === 0)) return -1
    byte = byte * 10 + character - 48
    if (++digits > 3 || byte > 255) return -1
  }
  return dots === 3 && digits > 0 ? address * 256 + byte : -1
}

const groups = new Uint16Array(GROUPS)

function readIpv6(text: string, end: number): boolean {
  /** How many groups are read, and how many of them stand before `::`; -1 without it. */
  let count = 0
  let gap = -1
  let at = 0
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return false
    gap = 0
    at = 2
  }
  while (at < end) {
    const from = at
    let group = 0
    for (; at < end && at - from < 5; at++) {
      const digit = hexOf(text.charCodeAt(at))
      if (digit === -1) break
      group = group * 16 + digit
    }
    if (at < end && text.charCodeAt(at) === DOT) {
      const ipv4 = count <= GROUPS - 2 ? readIpv4(text, from, end) : -1
      if (ipv4 === -1) return false
      groups[count++] = ipv4 >>> 16
      groups[count++] = ipv4 & 0xffff
      break
    }
    if (at === from || at - from > 4 || count === GROUPS) return false
    groups[count++] = group
    if (at === end) break
    if (text.charCodeAt(at++) !== COLON) return false
    if (text.charCodeAt(at) === COLON && at < end) {
      if (gap !== -1) return false
      gap = count
      at++
    } else if (at === end) return false
  }
  return spread(count, gap)
}

/** Puts the groups into `addressWords`, with zeros at the gap, which must stand for one group at least. */
function spread(count: number, gap: number): boolean {
  if (gap === -1 ? count !== GROUPS : count >= GROUPS) return false
  const missing = GROUPS - count
  const groupAt = (at: number): number => {
    if (gap === -1 || at < gap) return groups[at] as number
    return at < gap + missing ? 0 : (groups[at - missing] as number)
  }
  for (let word = 0; word < 4; word++) addressWords[word] = (groupAt(2 * word) << 16) | groupAt(2 * word + 1)
  return true
}

function hexOf(character: number): number {
  if (character >= 48 && character <= 57) return character - 48
  const letter = character | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
