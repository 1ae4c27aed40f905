import type { FastifyInstance } from 'fastify'
import { whenAnswered } from '../platform/http/answered.ts'
import { clientOf } from '../platform/http/client.ts'
import type { Refusal, RefusedCaller } from '../platform/refusal.ts'
import { eventActor, type NewEvent, personOf } from './event.ts'
import type { NoteEvents } from './record.ts'

/**
 * Records refusals of valid credentials and of throttled requests. It runs when the response has ended, where principal
 * and refusal are known, so that no rule of the gate has to do it.
 */
export function noteRefusals(
  app: FastifyInstance,
  { securityEvents }: { readonly securityEvents: NoteEvents },
): void {
  whenAnswered(app, (request, reply) => {
    const { refusal } = request
    if (!refusal) return
    const caller = request.principal ?? refusal.caller
    const kind = kindOf(reply.statusCode, caller, refusal)
    if (kind === null) return
    securityEvents.note({
      kind,
      workspaceId: caller?.workspaceId ?? null,
      userId: caller && personOf(caller),
      actor: caller && eventActor(caller),
      client: clientOf(request),
      details: { route: `${request.method} ${request.routeOptions.url ?? 'unknown'}`, code: refusal.code },
    })
  })
}

function kindOf(status: number, caller: RefusedCaller | null, { code }: Refusal): NewEvent['kind'] | null {
  if (code === 'ip_not_allowed') return 'address_refused'
  if (status === 429) return 'throttled'
  return status === 403 && caller !== null ? 'permission_refused' : null
}
