import type { Env } from '@keyrail/contract/shared'
import { createRoute, lazyRouteComponent, redirect, retainSearchParams } from '@tanstack/react-router'
import { ShellFailed } from '../components/page-states.tsx'
import { rootRoute } from '../root-route.tsx'
import { meQuery } from '../session/me.ts'
import { needSession } from '../session/need-session.ts'
import { acts } from './acts.ts'
import { ShellPending } from './shell-pending.tsx'

interface ShellSearch {
  env?: 'test' | undefined
  /** Opens the dialog in which the screen creates something. */
  create?: 'open' | undefined
  /** Opens the dialog in which the page of one thing does something with it. */
  act?: string | undefined
}

/** What every screen of a workspace is inside. The environment is in the address; live when it says nothing. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  validateSearch: (search: Record<string, unknown>): ShellSearch => ({
    ...(search.env === 'test' && { env: 'test' }),
    ...(search.create === 'open' && { create: 'open' }),
    ...(acts.some(act => act === search.act) && { act: search.act as string }),
  }),
  search: { middlewares: [retainSearchParams(['env'])] },
  async beforeLoad({ context, location }) {
    needSession(location)
    const me = await context.client.ensureQueryData(meQuery)
    if (me.workspaces.some(({ unproven }) => unproven)) throw redirect({ to: '/workspaces' })
    if (me.workspace_id === null)
      throw redirect({ to: me.workspaces.length === 0 ? '/workspaces/new' : '/workspaces' })
  },
  component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell'),
  pendingComponent: ShellPending,
  errorComponent: ShellFailed,
})

/** The environment that the page shows. */
export const useEnv = (): Env => shellRoute.useSearch().env ?? 'live'
