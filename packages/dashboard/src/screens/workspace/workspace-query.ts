import { queryOptions } from '@tanstack/react-query'
import { getWorkspace } from '../../api/workspaces.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'

/** The settings of the workspace that the page shows. */
export const workspaceQuery = () =>
  queryOptions({
    queryKey: ['workspace', shownWorkspaceId()],
    queryFn: ({ signal }) => getWorkspace({}, { signal }),
  })
