/**
 * Addresses: `cidr.ts` compares ranges, `read-networks.ts` reads a list of them, `client-address.ts` reads an address,
 * `client-network.ts` is the network for which failures count, `trusted-proxies.ts` says whose headers count, and `loopback.ts`
 * which hosts are this machine. `judge-address.ts` is the verdict on an address.
 */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A range of addresses. An IPv4-mapped IPv6 address is treated as the IPv4 address, in ranges and in compared addresses. */
export interface Network {
  readonly first: ipaddr.IPv4 | ipaddr.IPv6
  readonly bits: number
}

/** `10.0.0.0/8`, or a single address. The prefix has no sign, no leading zero and at most three digits. */
const form = /^([0-9a-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i
/** In an IPv4-mapped address, the IPv4 address begins after this many bits. */
const mappedBits = 96

/**
 * Reads a range as people write it.
 * @returns the range, or the fault of the text.
 */
export function readNetwork(text: string): Network | string {
  const [, address = '', prefix] = form.exec(text) ?? []
  // This check is strict: the library also accepts 010.1 and 0x7f000001.
  const version = isIP(address)
  if (version === 0) return 'must be an IPv4 or IPv6 address, with or without a prefix length'
  const given = parseAddress(address)
  const longest = version === 4 ? 32 : 128
  const length = prefix === undefined ? longest : Number(prefix)
  if (length > longest) return `must have a prefix length of at most ${longest}`
  if (!given.toByteArray().every((byte, i) => (byte & hostMask(length - 8 * i)) === 0)) {
    return `has bits set after its prefix of ${length}`
  }
  if (given instanceof ipaddr.IPv6 && given.isIPv4MappedAddress() && length >= mappedBits) {
    return { first: given.toIPv4Address(), bits: length - mappedBits }
  }
  return { first: given, bits: length }
}

/** The bits of a byte that a prefix leaves free, if the prefix covers this many. */
const hostMask = (bits: number) => (bits >= 8 ? 0 : bits <= 0 ? 0xff : 0xff >> bits)

/** One text for each range: IPv6 as in RFC 5952, and always with the prefix length. */
export const networkText = ({ first, bits }: Network): string => {
  const address = first instanceof ipaddr.IPv6 ? first.toRFC5952String() : first.toString()
  return `${address}/${bits}`
}

/** Whether every address of one range is in the other. */
export const isWithin = (inner: Network, outer: Network): boolean =>
  inner.bits >= outer.bits && has(outer, inner.first)

/**
 * Whether an address is in one of the ranges. An invalid address is in no range.
 * @param address of a connection, or as a trusted proxy has written it.
 */
export function isInside(networks: readonly Network[], address: string | undefined): boolean {
  if (address === undefined || isIP(address) === 0) return false
  const given = parseAddress(address)
  const asked = given instanceof ipaddr.IPv6 && given.isIPv4MappedAddress() ? given.toIPv4Address() : given
  return networks.some(network => has(network, asked))
}

const compatible = /^::(\d+)\.(\d+)\.(\d+)\.(\d+)/

/**
 * The library takes the deprecated form `::192.0.2.1`, which systems write as `::c000:201`, for the IPv4-mapped address of
 * `192.0.2.1`, which is a different address.
 */
export const parseAddress = (address: string): ipaddr.IPv4 | ipaddr.IPv6 =>
  ipaddr.parse(address.replace(compatible, (_, ...bytes: string[]) => `::${hexOf(bytes)}`))

const hexOf = ([a, b, c, d]: readonly string[]) =>
  [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map(group => group.toString(16)).join(':')

function has({ first, bits }: Network, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (first instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(first, bits)
  return address instanceof ipaddr.IPv6 && address.match(first, bits)
}

/** Reads stored ranges, which are valid. An invalid range would match no address, and so admit no caller. */
export const readStoredNetworks = (texts: readonly string[]): Network[] =>
  texts.map(readNetwork).filter(network => typeof network !== 'string')
