import { hash } from 'node:crypto'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { networkOf } from '../platform/throttle/client-network.ts'
import { agentFamily } from '../platform/user-agent.ts'
import { hasDevice } from './sql.ts'

/**
 * What a device is known by: the program without its version, and the network, an IPv4 /24 or an IPv6 /48. An update of
 * the browser and another address of the same provider are no new device; the same browser in another network is one.
 */
export const deviceOf = ({ ip, userAgent }: Client): Buffer =>
  hash('sha256', JSON.stringify([agentFamily(userAgent), nearNetworkOf(ip)]), 'buffer')

function nearNetworkOf(ip: string): string {
  const network = networkOf(ip)
  if (network.includes(':')) return network.split(':').slice(0, 3).join(':')
  return network.split('.').slice(0, 3).join('.')
}

/** Whether the person has signed in from it in the last 90 days. */
export const isKnownDevice = (tx: PersonTx, device: Buffer): Promise<boolean> => hasDevice(tx, device)
