import type { Clock } from '../platform/clock.ts'
import type { Transaction } from '../platform/db/transaction.ts'
import type { MakeId } from '../platform/ids.ts'
import type { NewEvent } from './event.ts'
import { insertEvent, rowOf } from './sql.ts'

/** What recording an event needs. */
export interface RecordNeeds {
  readonly clock: Clock
  readonly makeId: MakeId
}

/** Notes events outside of a transaction; they are stored a moment later. */
export interface NoteEvents {
  note(event: NewEvent): void
}

/**
 * Records an event in the transaction of the change, so that both commit or neither does.
 * @param device of a sign-in.
 * @returns the id of the event.
 */
export function recordEvent(
  { clock, makeId }: RecordNeeds,
  tx: Transaction,
  event: NewEvent,
  device: Buffer | null = null,
): string {
  const id = makeId()
  insertEvent(tx, { ...rowOf(event, id, new Date(clock.now()), 1), device })
  return id
}
