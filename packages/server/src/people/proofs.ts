import type { ResetConsume } from '@keyrail/contract/people'
import type { PersonPrincipal } from '../gate/principal.ts'
import { readMailedToken } from '../platform/crypto/mailed-token.ts'
import type { Db } from '../platform/db/db.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { networkOf } from '../platform/network/client-network.ts'
import { Refusal } from '../platform/refusal.ts'
import { recordEvent } from '../security-events/record.ts'
import { addressKey } from './address.ts'
import type { PeopleNeeds } from './needs.ts'
import { eventOf } from './own-event.ts'
import { refuseWeakPassword } from './password-rules.ts'
import { endPersonRights, endSessionRows } from './session-sql.ts'
import { consumeToken, hasToken, readUser, replacePassword, setVerified } from './sql.ts'

/** Requests another verification link. A verified person gets no mail, and the response is the same. */
export async function requestVerification(db: Db, { id }: PersonPrincipal): Promise<void> {
  await db.asPerson(id, async tx => {
    const user = await readUser(tx)
    if (user === null || user.email_verified_at !== null) return
    const address = addressKey(user.email)
    queueMail(tx, { kind: 'verification', throttle: 'verification', address, ids: { user_id: id } })
  })
}

/** Verifies the address of an account, or the billing address of a workspace. The token is the only credential. */
export async function verifyAddress(deps: PeopleNeeds, db: Db, token: string, client: Client): Promise<void> {
  const { scopeId, digest } = readMailedToken(token)
  const isOfPerson = await db.asPerson(scopeId, async tx => {
    if (!(await consumeToken(tx, 'verification', digest))) return false
    setVerified(tx)
    recordEvent(deps, tx, { ...eventOf(scopeId, client), kind: 'address_verified' })
    return true
  })
  if (!isOfPerson && !(await deps.proveBillingAddress(deps, db, scopeId, digest)))
    throw new Refusal('invalid_token')
}

/** Does and queues the same for an address without an account; the job then sends nothing. */
export async function requestReset(deps: PeopleNeeds, db: Db, email: string, client: Client): Promise<void> {
  const { accounts, makeId } = deps
  const address = addressKey(email)
  const account = await accounts.run(address)
  const ids = { user_id: account?.userId ?? null }
  await db.asPerson(account?.userId ?? makeId(), async tx =>
    queueMail(tx, { kind: 'password_reset', throttle: 'password_reset', address, ids }),
  )
  deps.securityEvents.note({ ...eventOf(ids.user_id, client), kind: 'reset_requested', actor: null })
}

/** Sets a new password, ends every session and mails a notice. */
export async function resetPassword(
  deps: PeopleNeeds,
  db: Db,
  { token, password }: ResetConsume,
  client: Client,
): Promise<void> {
  const { scopeId: userId, digest } = readMailedToken(token)
  const user = await db.asPerson(userId, async tx => {
    const [isLive, found] = await Promise.all([hasToken(tx, 'password_reset', digest), readUser(tx)])
    return isLive ? found : null
  })
  if (user === null) throw new Refusal('invalid_token')
  await refuseWeakPassword(deps, password, user.email)
  const hash = await deps.passwords.hash(password, networkOf(client.ip))
  const reset = async (tx: PersonTx) => {
    if (!(await consumeToken(tx, 'password_reset', digest))) throw new Refusal('invalid_token')
    endPersonRights(tx)
    if (!(await replacePassword(tx, hash, null))) throw new RightNotEnded('the password')
    endSessionRows(tx, null)
    const address = addressKey(user.email)
    queueMail(tx, {
      kind: 'password_changed',
      throttle: 'password_changed',
      address,
      ids: { user_id: userId },
    })
    recordEvent(deps, tx, { ...eventOf(userId, client), kind: 'password_reset' })
  }
  await db.asPerson(userId, reset, { changesRights: true })
}
