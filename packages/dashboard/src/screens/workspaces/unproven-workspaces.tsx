import type { Membership } from '@keyrail/contract/people'
import { Button, Group, Stack } from '@mantine/core'
import { useState } from 'react'
import { giveUpWorkspace, keepWorkspace } from '../../api/people.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { DoorFrame } from '../../components/door-frame.tsx'
import { Trouble } from '../../components/trouble.tsx'
import { useSending } from '../../components/use-sending.ts'

interface UnprovenWorkspacesProps {
  readonly unproven: readonly Membership[]
  readonly onDecided: () => Promise<void>
}

/** Asks once about each workspace of an account that somebody else may have made. */
export const UnprovenWorkspaces = ({ unproven, onDecided }: UnprovenWorkspacesProps) => (
  <DoorFrame
    title="Are these workspaces yours?"
    lead="The account had them before you showed that its address is yours. Somebody else may have made them. No person signed in by this account acts in one until you have decided."
  >
    <Stack gap="md">
      {unproven.map(workspace => (
        <Decision key={workspace.id} workspace={workspace} onDecided={onDecided} />
      ))}
    </Stack>
  </DoorFrame>
)

function Decision({ workspace, onDecided }: { workspace: Membership; onDecided: () => Promise<void> }) {
  const { id, name, slug, role } = workspace
  const [{ isBusy, trouble }, send] = useSending()
  const [isAsking, setAsking] = useState(false)
  const keep = async () => {
    await keepWorkspace({ id })
    await onDecided()
  }
  return (
    <section aria-label={slug}>
      <p>
        {name} ({slug}), as {role}
      </p>
      {trouble === null ? null : <Trouble error={trouble} />}
      <Group gap="xs" mt="xs">
        <Button variant="default" loading={isBusy} onClick={() => void send(keep)}>
          Keep {slug}
        </Button>
        <Button variant="default" onClick={() => setAsking(true)}>
          Delete {slug}
        </Button>
      </Group>
      <ConfirmDialog
        isOpen={isAsking}
        title={`Delete ${slug}`}
        action="Delete workspace"
        isFinal
        onClose={() => setAsking(false)}
        onConfirm={async () => {
          await giveUpWorkspace({ id })
          await onDecided()
        }}
      >
        It leaves your account for good. Where you are its only member, no person can act in it any more.
      </ConfirmDialog>
    </section>
  )
}
