import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../../root-route.tsx'
import { needSession } from '../../session/need-session.ts'

/** Pages of a signed-in person outside of any workspace. */
const signedIn = ({ location }: { location: { href: string } }) => needSession(location)

export const workspacesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/workspaces',
    beforeLoad: signedIn,
    component: lazyRouteComponent(() => import('./choose-workspace.tsx'), 'ChooseWorkspace'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/workspaces/new',
    beforeLoad: signedIn,
    component: lazyRouteComponent(() => import('./new-workspace.tsx'), 'NewWorkspace'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/workspaces/adopt',
    beforeLoad: signedIn,
    component: lazyRouteComponent(() => import('./adopt-workspace.tsx'), 'AdoptWorkspace'),
  }),
] as const
