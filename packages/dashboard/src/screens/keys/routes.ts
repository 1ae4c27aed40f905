import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'
import { readKeyFilters } from './key-filters.ts'

export const keyRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/keys',
    validateSearch: readKeyFilters,
    component: lazyRouteComponent(() => import('./keys.tsx'), 'Keys'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/keys/$keyId',
    component: lazyRouteComponent(() => import('./key-page.tsx'), 'KeyPage'),
  }),
] as const
