import type { SecurityEventKind } from '@keyrail/contract/security-events'
import type { Client } from '../platform/http/client.ts'
import type { Caller } from '../platform/refusal.ts'

/** What happened, to be written down. `details` has ids and codes: no secret, and no address that somebody typed. */
export interface NewEvent {
  readonly kind: SecurityEventKind
  /** Null for what is of no workspace. */
  readonly workspaceId: string | null
  /** The person whom it is about; null where there is none, or nobody knows. */
  readonly userId: string | null
  readonly actor: EventActor | null
  /** Null where no request is behind it. */
  readonly client: Client | null
  readonly details?: Readonly<Record<string, unknown>>
}

export interface EventActor {
  readonly type: string
  readonly id: string | null
}

export const eventActor = ({ kind, id }: Caller): EventActor => ({
  type: kind === 'session' ? 'user' : kind,
  id,
})

/** Whom an event of this caller is about. */
export const personOf = ({ kind, id }: Caller): string | null => (kind === 'session' ? id : null)

/** The workspace of events that are of none, as a row has it. */
export const nowhere = '00000000-0000-0000-0000-000000000000'
