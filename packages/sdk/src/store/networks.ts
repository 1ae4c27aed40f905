import { addressWords, readAddress, readPlain } from './address.ts'

/** The most ranges in a list. */
const RANGES_MAX = 32
const IPV4_WORDS = 2
const IPV6_WORDS = 5
const MAPPED_BITS = 96
/** The list itself with its arrays, and a text in it without its characters. */
const LIST_BYTES = 400
const TEXT_BYTES = 32

/** Where an address is. Outside is also every address, if the list cannot be read. */
export type Place = 'inside' | 'outside' | 'unknown'

/** Ranges of addresses, read once into numbers. IPv4 and IPv6 are apart: no IPv6 range has an IPv4 address. */
export class Networks {
  /** As the feed sent them; null if the list cannot be read. */
  readonly texts: readonly string[] | null
  /** For each range the first address and the mask. */
  readonly #ipv4: Int32Array
  /** For each range the four words of the first address, and the length of the prefix. */
  readonly #ipv6: Int32Array

  private constructor(texts: readonly string[] | null, ipv4: readonly number[], ipv6: readonly number[]) {
    this.texts = texts
    this.#ipv4 = Int32Array.from(ipv4)
    this.#ipv6 = Int32Array.from(ipv6)
  }

  /** The list of a tenant that cannot be read: no address is inside, and none has to be known. */
  static readonly unreadable = new Networks(null, [], [])

  /** Undefined if this is no list of ranges. */
  static read(value: unknown): Networks | undefined {
    if (!Array.isArray(value) || value.length > RANGES_MAX) return undefined
    const ipv4: number[] = []
    const ipv6: number[] = []
    for (const text of value) if (typeof text !== 'string' || !addRange(text, ipv4, ipv6)) return undefined
    return new Networks([...value], ipv4, ipv6)
  }

  /** No range at all: every address is allowed. */
  get isEmpty(): boolean {
    return this.texts?.length === 0
  }

  /** What the list takes in memory, estimated. */
  get bytes(): number {
    return (this.texts ?? []).reduce((sum, text) => sum + TEXT_BYTES + 3 * text.length, LIST_BYTES)
  }

  place(address: unknown): Place {
    if (this.texts === null) return 'outside'
    const family = typeof address === 'string' ? readAddress(address) : 0
    if (family === 0) return 'unknown'
    return (family === 4 ? this.#hasIpv4() : this.#hasIpv6()) ? 'inside' : 'outside'
  }

  toJSON(): readonly string[] | null {
    return this.texts
  }

  #hasIpv4(): boolean {
    const ranges = this.#ipv4
    const address = addressWords[0] as number
    for (let at = 0; at < ranges.length; at += IPV4_WORDS)
      if ((address & (ranges[at + 1] as number)) === ranges[at]) return true
    return false
  }

  #hasIpv6(): boolean {
    const ranges = this.#ipv6
    for (let at = 0; at < ranges.length; at += IPV6_WORDS) if (isInRange(ranges, at)) return true
    return false
  }
}

function isInRange(ranges: Int32Array, at: number): boolean {
  const bits = ranges[at + 4] as number
  for (let word = 0; 32 * word < bits; word++) {
    const mask = maskOf(bits - 32 * word)
    if (((addressWords[word] as number) & mask) !== ranges[at + word]) return false
  }
  return true
}

/** The first bits of a word, if the prefix covers so many from here on. */
const maskOf = (bits: number): number => (bits >= 32 ? -1 : bits <= 0 ? 0 : -1 << (32 - bits))

/** `192.0.2.0/24`, in which no bit is set behind the prefix. */
function addRange(text: string, ipv4: number[], ipv6: number[]): boolean {
  const at = text.indexOf('/')
  const prefix = text.slice(at + 1)
  if (at === -1 || !/^(?:0|[1-9]\d{0,2})$/.test(prefix)) return false
  const family = readPlain(text, at)
  if (family === 0) return false
  const isMapped = family === 4 && text.includes(':')
  if (family === 4 && !(isMapped && Number(prefix) < MAPPED_BITS)) {
    const bits = Number(prefix) - (isMapped ? MAPPED_BITS : 0)
    const first = addressWords[0] as number
    if (bits > 32 || (first & ~maskOf(bits)) !== 0) return false
    ipv4.push(first, maskOf(bits))
    return true
  }
  const bits = Number(prefix)
  // A mapped form with a shorter prefix has bits behind it: the ones before its IPv4 address.
  if (isMapped || bits > 128) return false
  for (let word = 0; word < 4; word++)
    if (((addressWords[word] as number) & ~maskOf(bits - 32 * word)) !== 0) return false
  ipv6.push(...addressWords, bits)
  return true
}
