import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A range of addresses. An IPv4-mapped IPv6 address is the IPv4 address, in ranges and in what is compared with them. */
export interface Network {
  readonly first: ipaddr.IPv4 | ipaddr.IPv6
  readonly bits: number
}

/** `10.0.0.0/8`, or a single address. The prefix has no sign, no zero in front and no more than three digits. */
const form = /^([0-9a-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i
/** An IPv4-mapped address has the IPv4 address behind so many bits. */
const mappedBits = 96

/**
 * Reads a range as people write it.
 * @returns the range, or in words what is wrong with the text.
 */
export function readNetwork(text: string): Network | string {
  const [, address = '', prefix] = form.exec(text) ?? []
  // Strict, where the library takes 010.1 and 0x7f000001 as well.
  const version = isIP(address)
  if (version === 0) return 'must be an IPv4 or IPv6 address, with or without a prefix length'
  const given = ipaddr.parse(address)
  const longest = version === 4 ? 32 : 128
  const length = prefix === undefined ? longest : Number(prefix)
  if (length > longest) return `must have a prefix length of ${longest} at most`
  if (!given.toByteArray().every((byte, i) => (byte & hostMask(length - 8 * i)) === 0)) {
    return `has bits set behind its prefix of ${length}`
  }
  if (given instanceof ipaddr.IPv6 && given.isIPv4MappedAddress() && length >= mappedBits) {
    return { first: given.toIPv4Address(), bits: length - mappedBits }
  }
  return { first: given, bits: length }
}

/** The bits of a byte that stand behind a prefix of which so many reach into it. */
const hostMask = (bits: number) => (bits >= 8 ? 0 : bits <= 0 ? 0xff : 0xff >> bits)

/** One text for each range: IPv6 as RFC 5952 says, and always with its prefix length. */
export const networkText = ({ first, bits }: Network): string => {
  const address = first instanceof ipaddr.IPv6 ? first.toRFC5952String() : first.toString()
  return `${address}/${bits}`
}

/** Whether every address of one range is in the other. */
export const isWithin = (inner: Network, outer: Network): boolean =>
  inner.bits >= outer.bits && has(outer, inner.first)

/**
 * Whether an address is in one of the ranges. What is no address is in none.
 * @param address of a connection, or as a trusted proxy has written it.
 */
export function isInside(networks: readonly Network[], address: string | undefined): boolean {
  if (address === undefined || isIP(address) === 0) return false
  const asked = ipaddr.process(address)
  return networks.some(network => has(network, asked))
}

function has({ first, bits }: Network, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (first instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(first, bits)
  return address instanceof ipaddr.IPv6 && address.match(first, bits)
}

/** Reads ranges that were stored, which are well-formed. One that is not matches nothing, so that nobody comes in by it. */
export const readStoredNetworks = (texts: readonly string[]): Network[] =>
  texts.map(readNetwork).filter(network => typeof network !== 'string')
