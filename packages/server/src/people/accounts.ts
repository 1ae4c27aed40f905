import type { Me, MeUpdate, PasswordChange, SignUp, User } from '@keyrail/contract/people'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import type { Db } from '../platform/db/db.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { recordEvent } from '../security-events/record.ts'
import { addressKey } from './address.ts'
import { laneOfPerson } from './device-lane.ts'
import type { PeopleNeeds } from './needs.ts'
import { eventOf } from './own-event.ts'
import { refuseWeakPassword } from './password-rules.ts'
import { toUser } from './resource.ts'
import { assertNoRightsLeft, endPersonRights, endSessionRows } from './session-sql.ts'
import {
  addUser,
  listMemberships,
  readPassword,
  readUser,
  replacePassword,
  retireToken,
  updateName,
} from './sql.ts'

/**
 * Creates an account, or mails a notice to the account that the address already has. If sign-up is restricted, a stranger's
 * request queues a mail without a recipient. Every case hashes the password, so that neither the response nor its cost reveals
 * the case.
 */
export async function signUp(
  deps: PeopleNeeds,
  db: Db,
  { email, password, name }: SignUp,
  ip: string,
): Promise<void> {
  await refuseWeakPassword(deps, password, email)
  const hash = await deps.passwords.hash(password, { ip, standing: 'stranger' })
  const address = addressKey(email)
  // One turn for each address, known or not: otherwise the order of letters would reveal which addresses are known.
  const letter = { throttle: 'sign_up', address, askedFrom: { ip, isToVerified: false } } as const
  const [known, isAdmitted] = await Promise.all([deps.accounts.run(address), mayJoin(deps, address)])
  if (known === null && !isAdmitted) {
    await db.asPerson(deps.makeId(), async tx =>
      queueMail(tx, { ...letter, kind: 'sign_up_notice', ids: { user_id: null } }),
    )
    return
  }
  if (known === null) {
    const isNew = await db.asPerson(deps.makeId(), async tx => {
      if (!(await addUser(tx, { email, addressKey: address, name: name ?? null, hash }))) return false
      queueMail(tx, { ...letter, kind: 'verification', ids: { user_id: tx.userId } })
      return true
    })
    if (isNew) return
  }
  // A concurrent sign-up may have created the account just before.
  const { userId } = known ?? (await deps.accounts.run(address)) ?? missing()
  await db.asPerson(userId, async tx =>
    queueMail(tx, { ...letter, kind: 'sign_up_notice', ids: { user_id: userId } }),
  )
}

/** Runs for every request, whether or not the address has an account. */
async function mayJoin({ config, invitedAddresses }: PeopleNeeds, address: string): Promise<boolean> {
  if (config.signUp === 'invited') return await invitedAddresses.run(address)
  return config.signUp === 'open'
}

const missing = (): never => {
  throw new Refusal('unavailable')
}

export async function getMe(db: Db, { id, workspaceId, role }: PersonPrincipal): Promise<Me> {
  const [user, workspaces] = await db.asPerson(id, tx => Promise.all([readUser(tx), listMemberships(tx)]))
  if (user === null) throw new Refusal('not_found')
  return {
    ...toUser(user),
    workspace_id: workspaceId,
    role: workspaceId === null ? null : role,
    workspaces,
  }
}

export async function updateMe(db: Db, { id }: PersonPrincipal, { name }: MeUpdate): Promise<User> {
  const user = await db.asPerson(id, tx => (name === undefined ? readUser(tx) : updateName(tx, name)))
  if (user === null) throw new Refusal('not_found')
  return toUser(user)
}

/** Ends every other session of the person and mails a notice. */
export async function changePassword(
  { deps, db, principal: { id, sessionId } }: Caller<PeopleNeeds, PersonPrincipal>,
  { current_password, password }: PasswordChange,
  client: Client,
): Promise<User> {
  const [user, old] = await db.asPerson(id, tx => Promise.all([readUser(tx), readPassword(tx)]))
  if (user === null || old === null) throw new Refusal('unauthenticated')
  await refuseWeakPassword(deps, password, user.email)
  const address = addressKey(user.email)
  const caller = { ip: client.ip, standing: 'signed in' } as const
  const verify = () => deps.passwords.verify(old, current_password, caller)
  const isRight = await deps.signIns.check(address, laneOfPerson(id), verify)
  if (!isRight) throw wrongPassword()
  const hash = await deps.passwords.hash(password, caller)
  const replace = async (tx: PersonTx) => {
    endPersonRights(tx)
    if (!(await replacePassword(tx, hash, old))) throw wrongPassword()
    endSessionRows(tx, sessionId)
    retireToken(tx, 'password_reset')
    assertNoRightsLeft(tx, sessionId)
    queueMail(tx, { kind: 'password_changed', throttle: 'password_changed', address, ids: { user_id: id } })
    recordEvent(deps, tx, { ...eventOf(id, client), kind: 'password_changed' })
  }
  await db.asPerson(id, replace, { changesRights: true })
  return toUser(user)
}

const wrongPassword = () => new Refusal('invalid_credentials', 'The current password is wrong.')
