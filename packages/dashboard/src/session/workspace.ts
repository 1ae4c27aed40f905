/**
 * The workspace that this tab shows. The session acts in one workspace, and all tabs share it, so every request states what
 * its page shows. When another tab has switched, the service refuses with `workspace_changed`, and the page asks the person.
 */

let shown: string | null = null
let asking: { promise: Promise<void>; resolve: () => void } | null = null
const listeners = new Set<() => void>()

const announce = () => {
  for (const listener of [...listeners]) listener()
}

export const shownWorkspaceId = (): string | null => shown

export function showWorkspace(id: string | null): void {
  shown = id
}

/** Whether requests wait for the person to choose between the two workspaces. */
export const isWorkspaceAsked = (): boolean => asking !== null

export function onWorkspaceAsked(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Resolves when the session acts in the shown workspace again. */
export async function workspaceReturned(): Promise<void> {
  if (asking === null) {
    asking = Promise.withResolvers<void>()
    announce()
  }
  await asking.promise
}

/** The session acts in the shown workspace again: the requests that wait go on. */
export function continueHere(): void {
  asking?.resolve()
  asking = null
  announce()
}
