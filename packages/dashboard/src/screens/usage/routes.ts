import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'

export const usageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/usage',
  /** The month is written as in `2027-01`. Without one, it is this month. */
  validateSearch: ({ month }: Record<string, unknown>): { month?: string | undefined } =>
    typeof month === 'string' && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) ? { month } : {},
  component: lazyRouteComponent(() => import('./usage.tsx'), 'Usage'),
})

export const usageRoutes = [usageRoute] as const
