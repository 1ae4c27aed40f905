import type { Config } from '../../config.ts'
import { type Network, networkText } from '../../platform/network/cidr.ts'
import type { Check } from './check.ts'

const name = 'proxies'
/** The proxies of an installation fit into these: a whole network of pods, and a whole allocation of a provider. */
const narrowest = { ipv4: 16, ipv6: 32 }

/**
 * A public address with https, and no certificate of the service itself, means a proxy in front. Unless that one is trusted, all
 * callers seem to have its address, and one of them can use up the failed sign-ins of all. Where a trusted network holds more
 * than proxies, callers in it choose their address.
 */
export function checkProxies({
  publicUrl,
  tlsCertFile,
  trustProxy,
}: Pick<Config, 'publicUrl' | 'tlsCertFile' | 'trustProxy'>): Check[] {
  if (typeof trustProxy !== 'number') return [checkNetworks(trustProxy)]
  if (new URL(publicUrl).protocol !== 'https:' || tlsCertFile !== null) return []
  if (trustProxy > 0) return [{ name, status: 'ok', message: `${trustProxy} trusted` }]
  return [
    {
      name,
      status: 'warning',
      message: `none is trusted, and one serves ${publicUrl}: every caller counts as one network`,
      todo: 'Set SERVICE_TRUST_PROXY to the networks of the proxies, or to the number of those that add to X-Forwarded-For.',
    },
  ]
}

function checkNetworks(networks: readonly Network[]): Check {
  const wide = networks.filter(({ first, bits }) => bits < narrowest[first.kind()])
  if (wide.length === 0)
    return { name, status: 'ok', message: `trusted in ${networks.map(networkText).join(', ')}` }
  return {
    name,
    status: 'warning',
    message: `${wide.map(networkText).join(', ')} is trusted: every caller in it can claim any address`,
    todo: 'Name only the addresses of your proxies in SERVICE_TRUST_PROXY.',
  }
}
