import type { PersonTx } from '../platform/db/transaction.ts'
import { moveSessionRow } from './session-sql.ts'
import { readUserToStay, setVerified, type UserRow } from './sql.ts'
import { setProven } from './unproven-sql.ts'

/** What other rooms may read and change about the person of a transaction. */

export interface Person {
  id: string
  email: string
  name: string | null
  isVerified: boolean
}

/** Locks the account against erasure until the transaction ends, so that rows that refer to it stay valid. */
export async function readPerson(tx: PersonTx): Promise<Person | null> {
  const row: UserRow | null = await readUserToStay(tx)
  if (row === null) return null
  return { id: row.id, email: row.email, name: row.name, isVerified: row.email_verified_at !== null }
}

/** For a signed-in person that proves the mailbox of the account: marks the address as verified, and the account as proven. */
export function proveMailbox(tx: PersonTx): void {
  setVerified(tx)
  setProven(tx)
}

/** Moves the session to this workspace from the next request on. */
export const actIn = (tx: PersonTx, sessionId: string, workspaceId: string) =>
  moveSessionRow(tx, sessionId, workspaceId)
