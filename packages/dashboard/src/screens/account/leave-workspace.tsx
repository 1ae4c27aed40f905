import { Button } from '@mantine/core'
import { useState } from 'react'
import { removeMember } from '../../api/members.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useHasRole, useMe, useShownWorkspace } from '../../session/me.ts'

/** Only an owner may remove a member, also the member itself. */
export function LeaveWorkspace() {
  const me = useMe()
  const { name } = useShownWorkspace()
  const isOwner = useHasRole('owner')
  const [isAsking, setAsking] = useState(false)
  if (!isOwner) return <p>An owner of {name} can remove you from it.</p>
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Leave {name}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={`Leave ${name}`}
        action="Leave workspace"
        typedName={name}
        isFinal
        onClose={() => setAsking(false)}
        onConfirm={async () => {
          await removeMember({ id: me.id })
          location.assign('/app/')
        }}
      >
        You lose access at once, and your pending invitations end. Secret keys that you made go on working.
        Another owner can invite you again.
      </ConfirmDialog>
    </>
  )
}
