import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseAddress } from './cidr.ts'

/**
 * Reads an address as a proxy writes it into `X-Forwarded-For`, or as a socket has it: with or without a port, brackets or a
 * zone, in any case; an IPv4-mapped address is the IPv4 one.
 * @returns one text for each address, IPv6 as in RFC 5952; null when the text is no address
 */
export function readAddress(text: string): string | null {
  const given = text.trim()
  const bracketed = inBrackets.exec(given)?.[1]
  const written = bracketed ?? withPort.exec(given)?.[1] ?? given
  // A zone names a network card of the machine that wrote it.
  const address = written.split('%', 1)[0] ?? ''
  // Strict: the library also reads 010.1 and 0x7f000001.
  const version = isIP(address)
  if (version === 0 || (bracketed !== undefined && version === 4)) return null
  const read = parseAddress(address)
  if (read instanceof ipaddr.IPv4) return read.toString()
  return read.isIPv4MappedAddress() ? read.toIPv4Address().toString() : read.toRFC5952String()
}

/** An IPv6 address in brackets, with or without a port. */
const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/
/** An IPv4 address with a port; an IPv6 address needs brackets for it. */
const withPort = /^([\d.]+):\d{1,5}$/

/**
 * The address before the trusted proxies. Each of them has added the address that it was called from at the end of the header.
 * An invalid one ends the list: who wrote the rest is unknown.
 *
 * @param remote the address of the connection; absent for a socket that has none
 * @param forwarded the header `X-Forwarded-For`
 * @param proxies how many proxies are trusted
 */
export function clientAddress(
  remote: string | undefined,
  forwarded: string | readonly string[] | undefined,
  proxies: number,
): string {
  let nearest = readAddress(remote ?? '') ?? ''
  if (proxies === 0 || forwarded === undefined) return nearest
  for (const hop of String(forwarded).split(',').slice(-proxies).reverse()) {
    const address = readAddress(hop)
    if (address === null) break
    nearest = address
  }
  return nearest
}
