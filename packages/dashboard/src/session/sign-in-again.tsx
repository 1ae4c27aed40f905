import { Modal, Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { SignInForm } from '../screens/people/sign-in-form.tsx'
import { meQuery } from './me.ts'
import { isWaiting, onWaiting } from './renewal.ts'
import { shownWorkspaceId } from './workspace.ts'

/** Over a page whose session has ended. The page stays as it is, and goes on after the sign-in. */
export function SignInAgain() {
  const isOpen = useSyncExternalStore(onWaiting, isWaiting)
  const me = useQueryClient().getQueryData(meQuery.queryKey)
  return (
    <Modal
      opened={isOpen}
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="Your session has ended"
      zIndex={400}
    >
      <Stack gap="md">
        <p>Sign in again to go on. The page behind is as you left it.</p>
        <SignInForm email={me?.email ?? ''} workspaceId={shownWorkspaceId()} />
      </Stack>
    </Modal>
  )
}
