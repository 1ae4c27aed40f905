import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const workspaceRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/settings/workspace',
    component: lazyRouteComponent(() => import('./workspace.tsx'), 'Workspace'),
  }),
] as const
