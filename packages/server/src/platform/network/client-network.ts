import { isIPv6 } from 'node:net'

/**
 * The network for which a client's failures are counted: an IPv4 address, or the /64 of an IPv6 one, because a
 * client with one address of it has them all. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is the IPv4
 * one.
 */
export function networkOf(ip: string): string {
  const address = ip.split('%', 1)[0] ?? ''
  // A proxy may send anything here; what is kept is no longer than an address can be.
  if (!isIPv6(address)) return address.slice(0, 45)
  const groups = groupsOf(address)
  const [a = 0, b = 0] = groups.slice(6)
  if (groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff)
    return [a >> 8, a & 255, b >> 8, b & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map(group => group.toString(16))
    .join(':')}::/64`
}

/** The eight groups of an IPv6 address. `URL` normalises every form to that of RFC 5952. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail ?? ''].map(part =>
    part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)),
  ) as [number[], number[]]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}
