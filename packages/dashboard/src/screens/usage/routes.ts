import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'
import { isId } from '../keys/key-filters.ts'

/** What the screen shows, as it stands in the address. */
export interface UsageSearch {
  /** As in `2027-01`. Without one, it is this month. */
  readonly month?: string | undefined
  readonly project?: string | undefined
  readonly tenant?: string | undefined
  readonly key?: string | undefined
  /** Without a number, it is 30. */
  readonly days?: 90 | undefined
}

const monthShape = /^\d{4}-(?:0[1-9]|1[0-2])$/

/** Reads an address that a person may have typed. */
const readSearch = ({ month, project, tenant, key, days }: Record<string, unknown>): UsageSearch => ({
  ...(typeof month === 'string' && monthShape.test(month) && { month }),
  ...(isId(project) && { project }),
  ...(isId(tenant) && { tenant }),
  ...(isId(key) && { key }),
  ...(days === 90 && { days }),
})

export const usageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/usage',
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import('./usage.tsx'), 'Usage'),
})

export const usageRoutes = [usageRoute] as const
