import { mailedPages } from '@keyrail/contract/mailed-pages'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import { nameInLetter } from '../platform/mail/subject.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { makerInWords } from './shown.ts'
import { readWorkspace, storeMailedToken } from './sql.ts'

const roleNames = { owner: 'an owner', admin: 'an admin', member: 'a member' } as const

/** The invitation mail. Its token differs from the owner's copy and proves the mailbox. */
export function inviteLetters({ db, randomBytes, publicUrl }: WriterParts): Record<string, WriteLetter> {
  return {
    invitation: ({ workspace_id = '', invite_id = '' }) =>
      db.inWorkspace(workspace_id, async tx => {
        const { token, digest } = drawMailedToken(workspace_id, randomBytes)
        const invite = await storeMailedToken(tx, invite_id, digest)
        // It was revoked or accepted after the job was queued.
        if (invite === null) return null
        const { name } = await readWorkspace(tx)
        const maker =
          invite.invited_by === null ? 'A secret key of the workspace' : makerInWords(invite.invited_by)
        return {
          to: invite.email,
          subject: `Join ${nameInLetter(name, 'a workspace')} on Keyrail`,
          paragraphs: [
            `${maker} invited you to ${nameInLetter(`the workspace “${name}”`, 'a workspace')} on Keyrail, as ${roleNames[invite.role]}.`,
          ],
          action: {
            label: 'Accept the invitation',
            url: `${publicUrl}${mailedPages.acceptInvite}#token=${token}`,
          },
          afterword:
            'The link works once, for 7 days from the invitation. If you do not know the sender, ignore this e-mail.',
        }
      }),
  }
}
