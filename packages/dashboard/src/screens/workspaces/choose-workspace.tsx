import { Anchor, Button, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { DoorFrame } from '../../components/door-frame.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useReported } from '../../components/use-reported.ts'
import { meQuery, useSignOut, useSwitchWorkspace } from '../../session/me.ts'
import { UnprovenWorkspaces } from './unproven-workspaces.tsx'

/** A person of several workspaces signs in without one of them, and chooses here. */
export function ChooseWorkspace() {
  const me = useQuery(meQuery)
  const switchTo = useReported(useSwitchWorkspace())
  const signOut = useSignOut()
  const unproven = me.data?.workspaces.filter(({ unproven }) => unproven) ?? []
  const lookAgain = async () => {
    const { data } = await me.refetch({ throwOnError: true })
    // The page starts again: the session may act in a workspace by now.
    if (!data?.workspaces.some(({ unproven }) => unproven)) location.assign('/app/')
  }
  if (unproven.length > 0) return <UnprovenWorkspaces unproven={unproven} onDecided={lookAgain} />
  return (
    <DoorFrame
      title="Choose a workspace"
      lead="You can switch later, at the top of the menu."
      aside={
        <>
          <Anchor renderRoot={props => <Link to="/workspaces/new" {...props} />}>Create a workspace</Anchor>
          <Anchor renderRoot={props => <Link to="/workspaces/adopt" {...props} />}>
            I have a secret key
          </Anchor>
          <Anchor component="button" type="button" ta="start" onClick={() => void signOut()}>
            Sign out
          </Anchor>
        </>
      }
    >
      <Loaded query={me} skeleton={<Skeleton h={84} />}>
        {({ workspaces }) => (
          <Stack gap="xs">
            {workspaces.map(({ id, name, role }) => (
              <Button
                key={id}
                variant="default"
                justify="space-between"
                onClick={() => switchTo(id)}
                rightSection={role}
              >
                {name}
              </Button>
            ))}
          </Stack>
        )}
      </Loaded>
    </DoorFrame>
  )
}
