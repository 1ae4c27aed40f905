import { Button, Group, Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { switchWorkspace } from '../api/people.ts'
import { Trouble } from '../components/trouble.tsx'
import { useSending } from '../components/use-sending.ts'
import { meQuery } from './me.ts'
import { continueHere, isWorkspaceAsked, onWorkspaceAsked, shownWorkspaceId } from './workspace.ts'

/** Over a page of one workspace while the session acts in another, because another tab has switched. */
export function WorkspaceChanged() {
  const isOpen = useSyncExternalStore(onWorkspaceAsked, isWorkspaceAsked)
  const me = useQueryClient().getQueryData(meQuery.queryKey)
  const [{ isBusy, trouble }, send] = useSending()
  const id = shownWorkspaceId()
  const shown = me?.workspaces.find(one => one.id === id)?.name ?? 'this workspace'
  const goOn = async () => {
    if (id === null) return
    await switchWorkspace({ body: { workspace_id: id } })
    continueHere()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="You switched to another workspace"
      // Both ways stand beside each other, where the name of the workspace allows.
      size={480}
      zIndex={390}
    >
      <p>
        Another tab of this browser now works in another workspace. This page shows {shown}. Nothing was
        changed.
      </p>
      {trouble === null ? null : <Trouble error={trouble} />}
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={() => location.assign('/app/')}>
          Go to the other workspace
        </Button>
        <Button loading={isBusy} onClick={() => void send(goOn)}>
          Go on in {shown}
        </Button>
      </Group>
    </Modal>
  )
}
