import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

const NODE_ID_MAX = 128

/**
 * Who this process is to the service: host, process id and a random suffix, because a process id comes again
 * after a restart. Characters that a node id may not have are dropped; a long host name is cut, never the rest.
 */
export function makeNodeId(host = hostname(), pid = process.pid): string {
  const suffix = `:${pid}.${randomBytes(6).toString('base64url').replaceAll('-', '.')}`
  const kept = host.replace(/[^A-Za-z0-9._:-]/g, '').slice(0, NODE_ID_MAX - suffix.length)
  return `${kept || 'node'}${suffix}`
}
