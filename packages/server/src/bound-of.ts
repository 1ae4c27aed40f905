import type { FastifyRequest } from 'fastify'
import type { Deps } from './deps.ts'
import { ownerOf } from './gate/principal.ts'
import { rightOf } from './gate/right.ts'
import type { Route } from './gate/route.ts'
import type { Bound } from './platform/db/db.ts'
import type { Party } from './platform/db/pool/shares.ts'
import { clientOf } from './platform/http/client.ts'
import type { HoldRows } from './platform/paging/list-leg.ts'

/**
 * The deadline, right and queue of a request's transactions. A mutation holds the right of its caller, except on `hot`
 * and `report` routes, and is answered with what the synchronous standby has. All transactions share one deadline,
 * except on a person's routes: hashing a password takes long, so each transaction there gets a new one. A request
 * without a credential waits for a connection in a separate queue.
 */
export function boundOf(route: Route<Deps>, request: FastifyRequest, holdRows: HoldRows): Bound {
  const { access, endsRights, method, plane, signed } = route
  const { principal, place, deadline } = request
  const isOnRequestPath = plane === 'hot' || plane === 'report'
  const isMutation = !isOnRequestPath && method !== 'GET'
  const { ip } = clientOf(request)
  if (principal === null) {
    const party: Party = signed === null ? { kind: 'stranger', ip } : { kind: 'service', name: 'codehost' }
    const sender = signed !== null && { sender: { kind: 'codehost', id: null, ip } }
    return { deadline: null, right: null, party, isConfirmed: isMutation, holdRows, ...sender }
  }
  return {
    deadline: plane === 'person' ? null : deadline,
    right: isMutation ? rightOf(principal, access) : null,
    // What ends a right does not wait behind what the right is used for. A person's own rights are no workspace's.
    party: endsRights
      ? {
          kind: 'party',
          name: `ends ${plane === 'person' ? `user ${principal.id}` : ownerOf(principal)}`,
          ...(place && { place }),
        }
      : null,
    ...(place && { place }),
    isConfirmed: isMutation,
    holdRows,
    ...(isMutation && { sender: { kind: principal.kind, id: principal.id, ip } }),
  }
}
