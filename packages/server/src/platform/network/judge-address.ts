import { isInside, readStoredNetworks } from './cidr.ts'

/**
 * Why a key that may be used from these networks is refused at an address; null: it is not.
 * @param networks as stored; empty: any address, also an unknown one
 * @param address null: nobody knows it
 */
export function judgeAddress(
  networks: readonly string[],
  address: string | null,
): 'ip_unknown' | 'ip_not_allowed' | null {
  if (networks.length === 0) return null
  if (address === null) return 'ip_unknown'
  return isInside(readStoredNetworks(networks), address) ? null : 'ip_not_allowed'
}
