import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const secretKeyRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/settings/secret-keys',
    validateSearch: (search: Record<string, unknown>): { revoked?: 'shown' | undefined } =>
      search.revoked === 'shown' ? { revoked: 'shown' } : {},
    component: lazyRouteComponent(() => import('./secret-keys.tsx'), 'SecretKeys'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/settings/secret-keys/$secretKeyId',
    component: lazyRouteComponent(() => import('./secret-key-page.tsx'), 'SecretKeyPage'),
  }),
] as const
