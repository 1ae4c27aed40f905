import type { Principal } from '../gate/principal.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { readPersonBehind } from './vouching-sql.ts'

/**
 * The person in whose name the service writes to a third party: the sender of the request, or the maker of the secret key that
 * sends it. A person needs a verified address, so that the person can be reached if the third party complains.
 * @param what the person wants to do, as in "before you …".
 * @returns the id of the person; null for the operator.
 * @throws {Refusal} `email_not_verified`
 */
export async function personWhoVouches(
  tx: Tx,
  { kind, id, isUnverified }: Pick<Principal, 'kind' | 'id' | 'isUnverified'>,
  what: string,
): Promise<string | null> {
  if (id === null) return null
  if (kind === 'session') {
    if (isUnverified)
      throw new Refusal('email_not_verified', `Verify your e-mail address before you ${what}.`)
    return id
  }
  const person = await readPersonBehind(tx, id)
  if (person?.isVerified === false) {
    throw new Refusal(
      'email_not_verified',
      `The person who made the secret key must verify their e-mail address before you ${what}.`,
    )
  }
  return person?.id ?? null
}
