import type { Member } from '@keyrail/contract/vendor/members'
import { useQueryClient } from '@tanstack/react-query'
import { removeMember } from '../../api/members.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useShownWorkspace } from '../../session/me.ts'
import { type Leftover, personOf } from './person.ts'

interface RemoveMemberProps {
  /** Null: nobody is about to be removed. */
  readonly member: Member | null
  readonly onClose: () => void
  readonly onLeftover: (leftover: Leftover) => void
}

/** Ends a membership, and passes on which secret keys of the person live on. */
export function RemoveMember({ member, onClose, onLeftover }: RemoveMemberProps) {
  const client = useQueryClient()
  const { name } = useShownWorkspace()
  if (member === null) return null
  return (
    <ConfirmDialog
      isOpen
      title={`Remove ${personOf(member)}`}
      action="Remove member"
      isFinal
      onClose={onClose}
      onConfirm={async () => {
        const { secret_keys } = await removeMember({ id: member.user_id })
        await client.invalidateQueries({ queryKey: ['members'] })
        await client.invalidateQueries({ queryKey: ['invites'] })
        if (secret_keys.count > 0) onLeftover({ of: personOf(member), keys: secret_keys })
      }}
    >
      <p>
        {member.email} loses access to {name} with the next request, and their pending invitations end. Secret
        keys that they made go on working: you see them next, and can revoke each.
      </p>
    </ConfirmDialog>
  )
}
