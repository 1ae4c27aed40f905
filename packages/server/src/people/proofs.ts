import type { ResetConsume } from '@keyrail/contract/people'
import type { Deps } from '../deps.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { readMailedToken } from '../platform/crypto/mailed-token.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { networkOf } from '../platform/throttle/client-network.ts'
import { recordEvent } from '../security-events/record.ts'
import { addressKey } from './address.ts'
import { eventOf } from './own-event.ts'
import { refuseWeakPassword } from './password-rules.ts'
import { consumeToken, endSessionRows, hasToken, readUser, replacePassword, setVerified } from './sql.ts'

/** Asks for another verification link. Nothing is sent to who is verified, and nobody is told. */
export async function requestVerification({ db }: Deps, { id }: PersonPrincipal): Promise<void> {
  await db.asPerson(id, async tx => {
    const user = await readUser(tx)
    if (user === null || user.email_verified_at !== null) return
    const address = addressKey(user.email)
    queueMail(tx, { kind: 'verification', throttle: 'verification', address, ids: { user_id: id } })
  })
}

/** The token is the whole credential. */
export async function verifyAddress(deps: Deps, token: string, client: Client): Promise<void> {
  const { scopeId, digest } = readMailedToken(token)
  await deps.db.asPerson(scopeId, async tx => {
    if (!(await consumeToken(tx, 'verification', digest))) throw new Refusal('invalid_token')
    setVerified(tx)
    recordEvent(deps, tx, { ...eventOf(scopeId, client), kind: 'address_verified' })
  })
}

/** The same is done and queued for an address that has no account; there the letter is never written. */
export async function requestReset(deps: Deps, email: string, client: Client): Promise<void> {
  const { db, accounts, makeId } = deps
  const address = addressKey(email)
  const account = await accounts.run(address)
  const ids = { user_id: account?.userId ?? null }
  await db.asPerson(account?.userId ?? makeId(), async tx =>
    queueMail(tx, { kind: 'password_reset', throttle: 'password_reset', address, ids }),
  )
  deps.securityEvents.note({ ...eventOf(ids.user_id, client), kind: 'reset_requested', actor: null })
}

/** Sets a new password, ends every session, and tells the address. */
export async function resetPassword(
  deps: Deps,
  { token, password }: ResetConsume,
  client: Client,
): Promise<void> {
  const { scopeId: userId, digest } = readMailedToken(token)
  const user = await deps.db.asPerson(userId, async tx => {
    const [isLive, found] = await Promise.all([hasToken(tx, 'password_reset', digest), readUser(tx)])
    return isLive ? found : null
  })
  if (user === null) throw new Refusal('invalid_token')
  await refuseWeakPassword(deps, password, user.email)
  const hash = await deps.passwords.hash(password, networkOf(client.ip))
  const reset = async (tx: PersonTx) => {
    if (!(await consumeToken(tx, 'password_reset', digest))) throw new Refusal('invalid_token')
    await replacePassword(tx, hash, null)
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
  await deps.db.asPerson(userId, reset, { changesRights: true })
}
