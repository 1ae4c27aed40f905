import { type Network, readNetwork } from './cidr.ts'

/**
 * The proxies whose `X-Forwarded-For` counts: so many proxies in front of the service, at any address, or the proxies in these
 * networks.
 */
export type TrustedProxies = number | readonly Network[]

/**
 * Reads networks that are separated by commas.
 * @returns the networks, or the fault of the first invalid one.
 */
export function readProxyNetworks(text: string): readonly Network[] | string {
  const networks: Network[] = []
  for (const part of text.split(',').map(part => part.trim())) {
    const network = readNetwork(part)
    if (typeof network === 'string') return `"${part}" ${network}`
    networks.push(network)
  }
  return networks
}
