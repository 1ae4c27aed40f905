import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const getStartedRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/get-started',
    component: lazyRouteComponent(() => import('./get-started.tsx'), 'GetStarted'),
  }),
] as const
