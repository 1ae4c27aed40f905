import type { PasswordChanged, ResetConsume, Verified } from '@keyrail/contract/people'
import type { PersonPrincipal } from '../gate/principal.ts'
import { drawMailedToken, readMailedToken } from '../platform/crypto/mailed-token.ts'
import type { Db } from '../platform/db/db.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { recordEvent } from '../security-events/record.ts'
import { addressKey } from './address.ts'
import type { PeopleNeeds } from './needs.ts'
import { eventOf } from './own-event.ts'
import { refuseWeakPassword } from './password-rules.ts'
import { assertNoRightsLeft, endPersonRights, endSessionRows } from './session-sql.ts'
import { consumeToken, hasToken, readUser, replacePassword, retireToken, setVerified } from './sql.ts'
import { disownUnproven, readMade } from './unproven.ts'
import {
  consumeDisowningToken,
  hasDisowningToken,
  retireDisowningToken,
  setProven,
  storeDisowningToken,
} from './unproven-sql.ts'

/** Requests another verification link. A verified person gets no mail, and the response is the same. */
export async function requestVerification(db: Db, { id }: PersonPrincipal, ip: string): Promise<void> {
  await db.asPerson(id, async tx => {
    const user = await readUser(tx)
    if (user === null || user.email_verified_at !== null) return
    const address = addressKey(user.email)
    const askedFrom = { ip, isToVerified: false }
    queueMail(tx, {
      kind: 'verification',
      throttle: 'verification',
      address,
      ids: { user_id: id },
      askedFrom,
    })
  })
}

/** How long the page of a used verification link can end what the account made. */
const disowningHours = 24

/**
 * Verifies the address of an account, or the billing address of a workspace. The token is the only credential. The verification
 * ends nothing: most people make a workspace and a key before they open the link. But the holder of the token sees what the
 * account made, and gets another token, with which a reset ends all of it.
 */
export async function verifyAddress(
  deps: PeopleNeeds,
  db: Db,
  token: string,
  client: Client,
): Promise<Verified> {
  const { scopeId, digest } = readMailedToken(token)
  const disowning = drawMailedToken(scopeId, deps.randomBytes)
  const user = await db.asPerson(scopeId, async tx => {
    const [isUsed, user] = await Promise.all([consumeToken(tx, 'verification', digest), readUser(tx)])
    if (!isUsed || user === null) return null
    setVerified(tx)
    if (!user.is_proven) storeDisowningToken(tx, disowning.digest, disowningHours)
    recordEvent(deps, tx, { ...eventOf(scopeId, client), kind: 'address_verified' })
    return user
  })
  if (user === null && !(await deps.proveBillingAddress(deps, db, scopeId, digest)))
    throw new Refusal('invalid_token')
  if (user === null || user.is_proven) return { status: 'verified', made: null, disowning_token: null }
  const made = await readMade(deps, db, scopeId)
  return { status: 'verified', made, disowning_token: disowning.token }
}

/** Does and queues the same for an address without an account; the job then sends nothing. */
export async function requestReset(deps: PeopleNeeds, db: Db, email: string, client: Client): Promise<void> {
  const { accounts, makeId } = deps
  const address = addressKey(email)
  const account = await accounts.run(address)
  const ids = { user_id: account?.userId ?? null }
  const askedFrom = { ip: client.ip, isToVerified: account?.isVerified === true }
  await db.asPerson(account?.userId ?? makeId(), async tx =>
    queueMail(tx, { kind: 'password_reset', throttle: 'password_reset', address, ids, askedFrom }),
  )
  deps.securityEvents.note({ ...eventOf(ids.user_id, client), kind: 'reset_requested', actor: null })
}

/**
 * Sets a new password, ends every session and mails a notice. The reset proves the mailbox, and the account then belongs to the
 * person who chose the password. If nobody had proved that before, what the account made ends.
 */
export async function resetPassword(
  deps: PeopleNeeds,
  db: Db,
  { token, password }: ResetConsume,
  client: Client,
): Promise<PasswordChanged> {
  const { scopeId: userId, digest } = readMailedToken(token)
  const [user, isMailed, isAsked] = await db.asPerson(userId, tx =>
    Promise.all([readUser(tx), hasToken(tx, 'password_reset', digest), hasDisowningToken(tx, digest)]),
  )
  if (user === null || !(isMailed || isAsked)) throw new Refusal('invalid_token')
  await refuseWeakPassword(deps, password, user.email)
  const hash = await deps.passwords.hash(password, { ip: client.ip, standing: 'known' })
  const reset = async (tx: PersonTx) => {
    const isLive = await (isAsked
      ? consumeDisowningToken(tx, digest)
      : consumeToken(tx, 'password_reset', digest))
    if (!isLive) throw new Refusal('invalid_token')
    endPersonRights(tx)
    if (!(await replacePassword(tx, hash, null))) throw new RightNotEnded('the password')
    endSessionRows(tx, null)
    const made_ended = await disownUnproven(tx, isAsked)
    setVerified(tx)
    setProven(tx)
    retireToken(tx, 'password_reset')
    assertNoRightsLeft(tx, null)
    retireDisowningToken(tx)
    const address = addressKey(user.email)
    queueMail(tx, {
      kind: 'password_changed',
      throttle: 'password_changed',
      address,
      ids: { user_id: userId },
    })
    recordEvent(deps, tx, { ...eventOf(userId, client), kind: 'password_reset', details: { made_ended } })
    return { status: 'password_changed' as const, made_ended }
  }
  const changed = await db.asPerson(userId, reset, { changesRights: true })
  if (changed.made_ended) await deps.disownings.follow(userId)
  return changed
}
