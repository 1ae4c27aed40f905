import type { PersonTx } from '../platform/db/transaction.ts'
import { moveSessionRow, readUserToStay, setVerified, type UserRow } from './sql.ts'

/** What other rooms may ask and say of the person of a transaction. */

export interface Person {
  id: string
  email: string
  name: string | null
  isVerified: boolean
}

/** The account stays there until the transaction has ended: what is written of it is of somebody. */
export async function readPerson(tx: PersonTx): Promise<Person | null> {
  const row: UserRow | null = await readUserToStay(tx)
  if (row === null) return null
  return { id: row.id, email: row.email, name: row.name, isVerified: row.email_verified_at !== null }
}

/** The mailbox has been proved in another way. */
export const verifyPerson = (tx: PersonTx): void => setVerified(tx)

/** The session acts in this workspace from the next request on. */
export const actIn = (tx: PersonTx, sessionId: string, workspaceId: string) =>
  moveSessionRow(tx, sessionId, workspaceId)
