import type { Role } from '@keyrail/contract/shared'
import type { Member } from '@keyrail/contract/vendor/members'
import { useQueryClient } from '@tanstack/react-query'
import { changeRole } from '../../api/members.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { meQuery, useMe } from '../../session/me.ts'
import { type Leftover, personOf } from './person.ts'
import { isDemotion, roleName, roleRights } from './roles.ts'

interface ChangeRoleProps {
  /** Null: nobody's role is about to change. */
  readonly change: { readonly member: Member; readonly role: Role } | null
  readonly onClose: () => void
  readonly onLeftover: (leftover: Leftover) => void
}

export function ChangeRole({ change, onClose, onLeftover }: ChangeRoleProps) {
  const client = useQueryClient()
  const me = useMe()
  if (change === null) return null
  const { member, role } = change
  const loses = isDemotion(member.role, role)
  return (
    <ConfirmDialog
      isOpen
      title={`Change the role of ${personOf(member)}`}
      action={`Make ${roleName[role].toLowerCase()}`}
      onClose={onClose}
      onConfirm={async () => {
        const { secret_keys } = await changeRole({ id: member.user_id, body: { role } })
        await client.invalidateQueries({ queryKey: ['members'] })
        await client.invalidateQueries({ queryKey: ['invites'] })
        if (member.user_id === me.id) await client.invalidateQueries(meQuery)
        else if (loses && secret_keys.count > 0) onLeftover({ of: personOf(member), keys: secret_keys })
      }}
    >
      <p>
        {roleRights[role]} The new role holds from the next request.
        {loses
          ? ' Pending invitations of this person end. Secret keys that this person made keep their rights.'
          : ''}
      </p>
    </ConfirmDialog>
  )
}
