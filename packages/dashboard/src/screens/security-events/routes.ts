import type { SecurityEventKind } from '@keyrail/contract/security-events'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { type Days, daysIn } from '../../components/days.ts'
import { shellRoute } from '../../shell/shell-route.tsx'
import { isKind } from './words.ts'

/** The filters of the list. */
export interface EventSearch extends Days {
  /** Events of the person's own account, in place of those of the workspace. */
  of?: 'me' | undefined
  kind?: SecurityEventKind | undefined
  user_id?: string | undefined
}

export const securityEventsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/security-events',
  validateSearch: ({ of, kind, user_id, ...days }: Record<string, unknown>): EventSearch => ({
    ...(of === 'me' && { of }),
    ...(isKind(kind) && { kind }),
    ...(typeof user_id === 'string' && /^[0-9a-f-]{36}$/.test(user_id) && { user_id }),
    ...daysIn(days),
  }),
  component: lazyRouteComponent(() => import('./security-events.tsx'), 'SecurityEvents'),
})

export const securityEventRoutes = [securityEventsRoute] as const
