import type { IdentifiedInvite } from '@keyrail/contract/people'
import { readMailedToken } from '../platform/crypto/mailed-token.ts'
import type { Db } from '../platform/db/db.ts'
import { nameInLetter } from '../platform/mail/subject.ts'
import { Refusal } from '../platform/refusal.ts'
import { showInviteByToken } from './sql.ts'

/** A name as the letter shows it; null where the letter leaves it out. */
const shownName = (name: string | null): string | null => nameInLetter(name, '') || null

/** The name and the address, or the address alone. */
export const makerInWords = ({ email, name }: { email: string; name: string | null }): string => {
  const shown = shownName(name)
  return shown === null ? email : `${shown} (${email})`
}

/**
 * Says to the holder of either token what the letter says, and no more. The token stays as it is: a program that opens
 * links of letters uses nothing up.
 * @throws {Refusal} `invalid_token` for every token that could not be accepted either.
 */
export async function identifyInvite(db: Db, token: string): Promise<IdentifiedInvite> {
  const { scopeId, digest } = readMailedToken(token)
  const invite = await db.readAtOnce(scopeId, tx => showInviteByToken(tx, digest))
  if (invite === null) throw new Refusal('invalid_token')
  const { email, role, workspace_name, invited_by, expires_at } = invite
  return {
    email,
    role,
    workspace_name: shownName(workspace_name),
    invited_by: invited_by === null ? null : { email: invited_by.email, name: shownName(invited_by.name) },
    expires_at: expires_at.toISOString(),
  }
}
