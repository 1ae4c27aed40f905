import { toBase64 } from './bytes.ts'
import { ofNode } from './of-node.ts'

const NODE_ID_MAX = 128

/**
 * The name of this process for the service: host, process id, and a random suffix, because process ids are reused. Drops
 * characters that a node id may not have. Cuts only the host name.
 */
export function makeNodeId(host = '', pid = ofNode(process => process.pid) ?? 0): string {
  const random = toBase64(crypto.getRandomValues(new Uint8Array(6)))
  const suffix = `:${pid}.${random.replaceAll(/[+/]/g, sign => (sign === '/' ? '_' : '.'))}`
  const kept = host.replace(/[^A-Za-z0-9._:-]/g, '').slice(0, NODE_ID_MAX - suffix.length)
  return `${kept || 'node'}${suffix}`
}
