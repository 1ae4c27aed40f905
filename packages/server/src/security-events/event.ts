import type { SecurityEventKind } from '@keyrail/contract/security-events'
import type { Client } from '../platform/http/client.ts'
import type { RefusedCaller } from '../platform/refusal.ts'

/** A security event to record. `details` has ids and codes: no secret, and no address that a client typed. */
export interface NewEvent {
  readonly kind: SecurityEventKind
  /** Null for an event without a workspace. */
  readonly workspaceId: string | null
  /** The person that the event is about; null when there is none or it is unknown. */
  readonly userId: string | null
  readonly actor: EventActor | null
  /** Null when no request caused the event. */
  readonly client: Client | null
  readonly details?: Readonly<Record<string, unknown>>
}

export interface EventActor {
  readonly type: string
  readonly id: string | null
}

export const eventActor = ({ kind, id }: RefusedCaller): EventActor => ({
  type: kind === 'session' ? 'user' : kind,
  id,
})

/** The person that an event of this caller is about. */
export const personOf = ({ kind, id }: RefusedCaller): string | null => (kind === 'session' ? id : null)

/** The workspace id in rows of events without a workspace. */
export const nowhere = '00000000-0000-0000-0000-000000000000'
