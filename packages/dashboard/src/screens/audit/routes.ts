import type { AuditAction } from '@keyrail/contract/vendor/audit'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { type Days, daysIn } from '../../components/days.ts'
import { shellRoute } from '../../shell/shell-route.tsx'
import { isAction } from './words.ts'

/** The filters of the log, named as the API names them, and its days. */
export interface AuditSearch extends Days {
  action?: AuditAction | undefined
  actor_id?: string | undefined
  target_id?: string | undefined
  /** Leaves out rows without an environment. Without it, the live environment shows all rows of the workspace. */
  rows?: 'live' | undefined
}

export const auditRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/audit-log',
  validateSearch({ action, actor_id, target_id, rows, ...days }: Record<string, unknown>): AuditSearch {
    return {
      ...(isAction(action) && { action }),
      ...(typeof actor_id === 'string' && { actor_id }),
      ...(typeof target_id === 'string' && { target_id }),
      ...(rows === 'live' && { rows }),
      ...daysIn(days),
    }
  },
  component: lazyRouteComponent(() => import('./audit-log.tsx'), 'AuditLog'),
})

export const auditRoutes = [auditRoute] as const
