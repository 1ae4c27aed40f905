import type { SecurityEventKind } from '@keyrail/contract/security-events'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '../../shell/shell-route.tsx'
import { isKind } from './words.ts'

/** The filters of the list. */
export interface EventSearch {
  /** Events of the person's own account, in place of those of the workspace. */
  of?: 'me' | undefined
  kind?: SecurityEventKind | undefined
  user_id?: string | undefined
  /** Days, as `2027-01-31`, in the time zone of the browser; both are included. */
  from?: string | undefined
  to?: string | undefined
}

const isDay = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

export const securityEventsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/security-events',
  validateSearch: ({ of, kind, user_id, from, to }: Record<string, unknown>): EventSearch => ({
    ...(of === 'me' && { of }),
    ...(isKind(kind) && { kind }),
    ...(typeof user_id === 'string' && /^[0-9a-f-]{36}$/.test(user_id) && { user_id }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
  }),
  component: lazyRouteComponent(() => import('./security-events.tsx'), 'SecurityEvents'),
})

export const securityEventRoutes = [securityEventsRoute] as const
