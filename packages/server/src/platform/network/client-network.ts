import { isIPv6 } from 'node:net'

/**
 * The network for which a client's failures are counted: an IPv4 address, or the /64 of an IPv6 one, because a client with one
 * address of a /64 has all of them. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) counts as the IPv4 address.
 */
export const networkOf = (ip: string): string => prefixOf(ip, 4)

/**
 * The party of a client where strangers take turns: an IPv4 address, or the /48 of an IPv6 one. A provider gives a customer up
 * to a /48, which is 65,536 networks.
 */
export const siteOf = (ip: string): string => prefixOf(ip, 3)

/** The first groups of an IPv6 address, of 16 bits each; an IPv4 address as it is. */
function prefixOf(ip: string, count: number): string {
  const address = ip.split('%', 1)[0] ?? ''
  // A proxy may send any text here; the text that is kept is no longer than an address can be.
  if (!isIPv6(address)) return address.slice(0, 45)
  const groups = groupsOf(address)
  const [a = 0, b = 0] = groups.slice(6)
  if (groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff)
    return [a >> 8, a & 255, b >> 8, b & 255].join('.')
  const written = groups.slice(0, count).map(group => group.toString(16))
  return `${written.join(':')}::/${16 * count}`
}

/** The eight groups of an IPv6 address. `URL` normalises every form to that of RFC 5952. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail ?? ''].map(part =>
    part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)),
  ) as [number[], number[]]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}
