import { useQuery } from '@tanstack/react-query'
import { listMembers } from '../api/members.ts'
import { readAll } from '../api/read-all.ts'
import { shownWorkspaceId } from '../session/workspace.ts'

/** All members of the workspace. Empty until they are loaded. */
export function usePeople(isNeeded = true) {
  const { data, error, isFetching } = useQuery({
    queryKey: ['members', 'all', shownWorkspaceId()],
    enabled: isNeeded,
    queryFn: ({ signal }) => readAll(cursor => listMembers({ query: { limit: 200, cursor } }, { signal })),
  })
  return { data: data ?? [], error, isFetching }
}
