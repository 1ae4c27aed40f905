import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const projectRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/projects',
    validateSearch: ({ q }: Record<string, unknown>): { q?: string | undefined } =>
      typeof q === 'string' && q !== '' ? { q: q.slice(0, 64) } : {},
    component: lazyRouteComponent(() => import('./projects.tsx'), 'Projects'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/projects/$projectId',
    component: lazyRouteComponent(() => import('./project-page.tsx'), 'ProjectPage'),
  }),
] as const
