import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isInside, parseAddress } from './cidr.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/**
 * Reads an address as a proxy writes it into `X-Forwarded-For`, or as a socket has it: with or without a port, brackets or a
 * zone, in any case; an IPv4-mapped address is the IPv4 one.
 * @returns one text for each address, IPv6 as in RFC 5952; null when the text is no address
 */
export function readAddress(text: string): string | null {
  const given = text.trim()
  const bracketed = inBrackets.exec(given)?.[1]
  const written = bracketed ?? withPort.exec(given)?.[1] ?? given
  // A zone names a network card of the machine that wrote it. Only an IPv6 address has one.
  const address = written.includes(':') ? (written.split('%', 1)[0] ?? '') : written
  // This check is strict: the library also reads 010.1 and 0x7f000001.
  const version = isIP(address)
  if (version === 0 || (bracketed !== undefined && version === 4)) return null
  const read = parseAddress(address)
  if (read instanceof ipaddr.IPv4) return read.toString()
  return read.isIPv4MappedAddress() ? read.toIPv4Address().toString() : read.toRFC5952String()
}

/** The same of an address alone, as the keyrings of servers take it: nothing stands around it. */
export const readBareAddress = (text: string): string | null =>
  text.trim() !== text || inBrackets.test(text) || withPort.test(text) ? null : readAddress(text)

/** An IPv6 address in brackets, with or without a port. */
const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/
/** An IPv4 address with a port; an IPv6 address needs brackets for it. */
const withPort = /^([\d.]+):\d{1,5}$/

/**
 * The address before the trusted proxies. Each trusted proxy has added the address of its caller at the end of the header. From
 * the right, the search ends at the first address outside the trusted networks, or before an invalid one: nobody knows who wrote
 * the text to its left.
 *
 * @param remote the address of the connection; absent for a socket that has none
 * @param forwarded the header `X-Forwarded-For`
 * @param proxies which proxies are trusted
 */
export function clientAddress(
  remote: string | undefined,
  forwarded: string | readonly string[] | undefined,
  proxies: TrustedProxies,
): string {
  let nearest = readAddress(remote ?? '') ?? ''
  if (forwarded === undefined || proxies === 0) return nearest
  for (const [passed, hop] of String(forwarded).split(',').reverse().entries()) {
    const isProxy = typeof proxies === 'number' ? passed < proxies : isInside(proxies, nearest)
    const address = isProxy ? readAddress(hop) : null
    if (address === null) break
    nearest = address
  }
  return nearest
}

/** Whether the other end of a connection is a trusted proxy, so that its `X-Forwarded-For` counts. */
export const trustsPeer = (proxies: TrustedProxies, remote: string | undefined): boolean =>
  typeof proxies === 'number' ? proxies > 0 : isInside(proxies, readAddress(remote ?? '') ?? undefined)
