import type { ResetConsume } from '@keyrail/contract/people'
import type { Deps } from '../deps.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { readMailedToken } from '../platform/crypto/mailed-token.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { addressKey } from './address.ts'
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
export async function verifyAddress({ db }: Deps, token: string): Promise<void> {
  const { scopeId, digest } = readMailedToken(token)
  await db.asPerson(scopeId, async tx => {
    if (!(await consumeToken(tx, 'verification', digest))) throw new Refusal('invalid_token')
    setVerified(tx)
  })
}

/** The same is done and queued for an address that has no account; there the letter is never written. */
export async function requestReset({ db, accounts, makeId }: Deps, email: string): Promise<void> {
  const address = addressKey(email)
  const account = await accounts.run(address)
  const ids = { user_id: account?.userId ?? null }
  await db.asPerson(account?.userId ?? makeId(), async tx =>
    queueMail(tx, { kind: 'password_reset', throttle: 'password_reset', address, ids }),
  )
}

/** Sets a new password, ends every session, and tells the address. */
export async function resetPassword(deps: Deps, { token, password }: ResetConsume): Promise<void> {
  const { scopeId: userId, digest } = readMailedToken(token)
  const user = await deps.db.asPerson(userId, async tx => {
    const [isLive, found] = await Promise.all([hasToken(tx, 'password_reset', digest), readUser(tx)])
    return isLive ? found : null
  })
  if (user === null) throw new Refusal('invalid_token')
  await refuseWeakPassword(deps, password, user.email)
  const hash = await deps.passwords.hash(password)
  await deps.db.asPerson(userId, async tx => {
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
  })
}
