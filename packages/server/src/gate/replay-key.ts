import type { FastifyRequest } from 'fastify'
import { fingerprintOf, type ReplayKey } from '../platform/db/replay.ts'
import { headerValues } from '../platform/http/headers.ts'
import { invalidField } from '../platform/refusal.ts'
import type { Principal } from './principal.ts'

const shape = /^[\x20-\x7e]{1,255}$/

/**
 * The `Idempotency-Key` of a request, together with its credential: the same key from another caller is a different one.
 * @param status of the route's response.
 * @throws {Refusal} `validation_failed` when it is malformed or duplicated.
 */
export function readReplayKey(
  request: FastifyRequest,
  principal: Principal,
  body: unknown,
  status: number,
): ReplayKey | null {
  const given = headerValues(request.raw, 'idempotency-key')
  if (given.length === 0) return null
  const [key = ''] = given
  if (given.length > 1 || !shape.test(key)) {
    throw invalidField('Idempotency-Key', 'must be sent once, with 1 to 255 printable ASCII characters')
  }
  return {
    caller: principal.id === null ? principal.kind : `${principal.kind}:${principal.id}`,
    workspaceId: principal.workspaceId,
    key,
    fingerprint: fingerprintOf(request.method, request.url, body),
    status,
  }
}
