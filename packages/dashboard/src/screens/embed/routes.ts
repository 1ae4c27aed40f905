import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const embedRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/settings/embed',
    component: lazyRouteComponent(() => import('./embed.tsx'), 'Embed'),
  }),
] as const
