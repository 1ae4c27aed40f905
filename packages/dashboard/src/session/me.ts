import type { Me, Membership } from '@keyrail/contract/people'
import type { Role } from '@keyrail/contract/shared'
import { type QueryClient, queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { endCurrentSession, getMe, switchWorkspace } from '../api/people.ts'
import { endSession, showPerson } from './token.ts'
import { shownWorkspaceId, showWorkspace } from './workspace.ts'

/** The signed-in person. The first answer decides which workspace this tab shows. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  async queryFn({ signal }) {
    showPerson()
    const me = await getMe({}, { signal })
    if (shownWorkspaceId() === null) showWorkspace(me.workspace_id)
    return me
  },
})

export const useMe = (): Me => useSuspenseQuery(meQuery).data

/** The workspace that the page shows. Only for screens inside the shell, which always show one. */
export function useShownWorkspace(): Membership {
  const shown = useMe().workspaces.find(({ id }) => id === shownWorkspaceId())
  if (shown === undefined) throw new Error('the page shows no workspace of this person')
  return shown
}

const ranks: Record<Role, number> = { member: 0, admin: 1, owner: 2 }

/** Whether the role of the person in this workspace includes the rights of another one. */
export const useHasRole = (role: Role): boolean => ranks[useShownWorkspace().role] >= ranks[role]

/** Moves the session to another workspace of the person, and shows it from its start. */
export function useSwitchWorkspace(): (id: string) => Promise<void> {
  return async id => {
    await switchWorkspace({ body: { workspace_id: id } })
    location.assign('/app/')
  }
}

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    // The session ends on the service even when the answer never arrives: the page is signed out either way.
    await endCurrentSession({}, { keepalive: true }).catch(() => {})
    leave(client)
  }
}

/** Shows nothing any more that only a signed-in person may see. */
function leave(client: QueryClient): void {
  endSession()
  client.clear()
  location.assign('/app/sign-in')
}
