import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const memberRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/settings/members',
    component: lazyRouteComponent(() => import('./members.tsx'), 'Members'),
  }),
] as const
