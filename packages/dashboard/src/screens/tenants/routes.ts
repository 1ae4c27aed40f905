import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const tenantRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/tenants',
    validateSearch: ({ q }: Record<string, unknown>): { q?: string | undefined } =>
      typeof q === 'string' && q !== '' ? { q: q.slice(0, 64) } : {},
    component: lazyRouteComponent(() => import('./tenants.tsx'), 'Tenants'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/tenants/$tenantId',
    component: lazyRouteComponent(() => import('./tenant-page.tsx'), 'TenantPage'),
  }),
] as const
