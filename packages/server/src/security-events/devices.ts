import { hash } from 'node:crypto'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { agentFamily } from '../platform/http/user-agent.ts'
import { networkOf } from '../platform/network/client-network.ts'
import { hasDevice } from './sql.ts'

/**
 * Identifies a device: the program without its version, and the network, an IPv4 /24 or an IPv6 /48. A browser update or
 * another address of the same provider is the same device; the same browser in another network is a new one.
 */
export const deviceOf = ({ ip, userAgent }: Client): Buffer =>
  hash('sha256', JSON.stringify([agentFamily(userAgent), nearNetworkOf(ip)]), 'buffer')

function nearNetworkOf(ip: string): string {
  const network = networkOf(ip)
  if (network.includes(':')) return network.split(':').slice(0, 3).join(':')
  return network.split('.').slice(0, 3).join('.')
}

/** Whether the person has signed in from this device in the last 90 days. */
export const isKnownDevice = (tx: PersonTx, device: Buffer): Promise<boolean> => hasDevice(tx, device)
