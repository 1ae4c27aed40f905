import type { Verified } from '@keyrail/contract/people'
import type { Role } from '@keyrail/contract/shared'
import type { Db } from '../platform/db/db.ts'
import type { PersonTx, ReadTx } from '../platform/db/transaction.ts'
import { iso } from '../platform/time.ts'
import type { PeopleNeeds } from './needs.ts'
import {
  advanceRow,
  disownRows,
  findPlacesMade,
  findSignIns,
  isUnproven,
  listUndone,
  listUnprovenPlaces,
} from './unproven-sql.ts'

/**
 * Somebody may sign up with the address of another person, and make a workspace and secret keys before the owner of the mailbox
 * comes. Until a person has proved that password and mailbox belong together, a reset ends all that the account made: first its
 * sessions and its right to act in its workspaces, in one row; then its keys and invitations, in batches.
 */

/**
 * Begins to end all that the account made, if no person has proved to own the account. Comes after the new password.
 * @param isAsked whether the owner of the mailbox disowns it in any case.
 * @returns whether the end has begun. `disownings.follow` continues after the commit.
 */
export async function disownUnproven(tx: PersonTx, isAsked: boolean): Promise<boolean> {
  if (!isAsked && !(await isUnproven(tx))) return false
  disownRows(tx)
  return true
}

/** People whose accounts made things that are still to end. */
export const undoneDisownings = (tx: ReadTx, most: number): Promise<string[]> => listUndone(tx, most)

/** The next workspaces where the account may have made anything. */
export const placesToDisown = (tx: PersonTx, most: number): Promise<string[]> => listUnprovenPlaces(tx, most)

/** Notes the last workspace in which the end has begun, and whether it has begun in all workspaces. */
export const noteDisowned = (tx: PersonTx, reached: string | null, isDone: boolean): void =>
  advanceRow(tx, reached, isDone)

type Made = NonNullable<Verified['made']>

/** As many workspaces and sign-ins as a page shows. */
const shownMax = 20

/** What the account made, for the owner of the mailbox. */
export async function readMade(
  { disownings }: Pick<PeopleNeeds, 'disownings'>,
  db: Db,
  userId: string,
): Promise<Made> {
  type OwnedWorkspace = { id: string; slug: string; role: Role; created_at: Date }
  type SignIn = { ip: string | null; user_agent: string | null; created_at: Date }
  const [places, signIns] = await db.asPerson(userId, tx =>
    Promise.all([
      tx.query<OwnedWorkspace>(findPlacesMade, [userId, shownMax]),
      tx.query<SignIn>(findSignIns, [userId, shownMax]),
    ]),
  )
  const workspaces: Made['workspaces'] = []
  for (const { created_at, ...place } of places) {
    const secret_keys = await disownings.countKeys(db, place.id, userId)
    workspaces.push({ ...place, secret_keys, created_at: iso(created_at) })
  }
  return { workspaces, sign_ins: signIns.map(one => ({ ...one, created_at: iso(one.created_at) })) }
}
