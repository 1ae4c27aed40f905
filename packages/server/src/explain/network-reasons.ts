import type { Reason } from '@keyrail/contract/vendor/explain'
import { isInside, readStoredNetworks } from '../platform/network/cidr.ts'
import { judgeAddress } from '../platform/network/judge-address.ts'
import type { Judged } from './judged.ts'

/** Whether the address of the request is one from which the key may be used, and whose list says so. */
export function networkReasons({
  facts,
  address,
  hidesTenant,
}: Pick<Judged, 'facts' | 'address' | 'hidesTenant'>): [Reason, Reason] {
  const own = facts.allowed_cidrs
  const networks = own ?? facts.tenant_cidrs
  const verdict = judgeAddress(networks, address)
  const reasons = (unknown: string, outside: string): [Reason, Reason] => [
    { code: 'ip_unknown', applies: verdict === 'ip_unknown', detail: unknown },
    { code: 'ip_not_allowed', applies: verdict === 'ip_not_allowed', detail: outside },
  ]
  if (networks.length === 0) {
    const why =
      own === null
        ? 'Neither the key nor its tenant has a list of networks.'
        : 'The list of the key itself is empty, whatever its tenant allows.'
    return reasons('The key may be used from any address, also an unknown one.', why)
  }
  const isHidden = own === null && hidesTenant
  const whose = own === null ? 'its tenant' : 'the key itself'
  const list = isHidden ? '' : `: ${networks.join(', ')}`
  if (address === null)
    return reasons(
      `No address is given, and the key may be used from the networks of ${whose} alone${list}.`,
      'Without an address, no network is compared.',
    )
  const known = `The address of the request is ${address}.`
  if (verdict !== null) return reasons(known, `${address} is in no network of ${whose}${list}.`)
  const matched = networks.find(one => isInside(readStoredNetworks([one]), address))
  return reasons(
    known,
    isHidden
      ? `${address} is in a network of ${whose}.`
      : `${address} is in ${matched}, a network of ${whose}.`,
  )
}
