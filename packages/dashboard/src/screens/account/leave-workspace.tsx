import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { leaveWorkspace, switchWorkspace } from '../../api/people.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useMe, useShownWorkspace } from '../../session/me.ts'

export function LeaveWorkspace() {
  const { id, name, role } = useShownWorkspace()
  const { workspaces } = useMe()
  const [isAsking, setAsking] = useState(false)
  const others = workspaces.filter(other => other.id !== id)
  const leave = async () => {
    await leaveWorkspace({ id })
    const [next, ...more] = others
    // The page of `/app/` asks a person of several workspaces which one, and does so where the switch fails.
    if (next !== undefined && more.length === 0)
      await switchWorkspace({ body: { workspace_id: next.id } }).catch(() => {})
    location.assign('/app/')
  }
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
        onConfirm={leave}
      >
        <Stack gap="xs">
          <p>
            You lose access at once, in all your sessions, and only an owner can invite you again. Pending
            invitations that you made end.
          </p>
          {role === 'member' ? null : (
            <p>Secret keys that you made go on working. Revoke first those that only you use.</p>
          )}
          {role === 'owner' ? (
            <p>
              A workspace keeps at least one owner: if you are the only one, make another person an owner
              first.
            </p>
          ) : null}
        </Stack>
      </ConfirmDialog>
    </>
  )
}
