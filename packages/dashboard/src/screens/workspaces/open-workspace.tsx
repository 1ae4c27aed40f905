import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { switchWorkspace } from '../../api/people.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { Loaded } from '../../components/loaded.tsx'

/** Goes to the first steps of a workspace that was just made. */
export function OpenWorkspace({ id }: { id: string }) {
  const opened = useQuery({
    queryKey: ['workspace', 'opened', id],
    async queryFn() {
      const session = await switchWorkspace({ body: { workspace_id: id } })
      location.assign('/app/get-started')
      return session
    },
  })
  const skeleton = <Skeleton h={36} />
  return (
    <DoorFrame title="Open your workspace" lead="The workspace is ready.">
      <Loaded query={opened} skeleton={skeleton}>
        {() => skeleton}
      </Loaded>
    </DoorFrame>
  )
}
