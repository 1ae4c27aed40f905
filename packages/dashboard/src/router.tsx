import { mailedPages } from '@keyrail/contract/mailed-pages'
import type { QueryClient } from '@tanstack/react-query'
import { createRouter } from '@tanstack/react-router'
import { PageFailed, PageMissing, PagePending } from './components/page-states.tsx'
import { rootRoute } from './root-route.tsx'
import { accountRoutes } from './screens/account/routes.ts'
import { auditRoutes } from './screens/audit/routes.ts'
import { embedRoutes } from './screens/embed/routes.ts'
import { getStartedRoutes } from './screens/get-started/routes.ts'
import { keyRoutes } from './screens/keys/routes.ts'
import { memberRoutes } from './screens/members/routes.ts'
import { overviewRoutes } from './screens/overview/routes.ts'
import { peopleRoutes } from './screens/people/routes.ts'
import { projectRoutes } from './screens/projects/routes.ts'
import { secretKeyRoutes } from './screens/secret-keys/routes.ts'
import { securityEventRoutes } from './screens/security-events/routes.ts'
import { tenantRoutes } from './screens/tenants/routes.ts'
import { usageRoutes } from './screens/usage/routes.ts'
import { workspaceRoutes } from './screens/workspace/routes.ts'
import { workspacesRoutes } from './screens/workspaces/routes.ts'
import { shellRoute } from './shell/shell-route.tsx'

const routeTree = rootRoute.addChildren([
  ...peopleRoutes,
  ...workspacesRoutes,
  shellRoute.addChildren([
    ...overviewRoutes,
    ...getStartedRoutes,
    ...keyRoutes,
    ...tenantRoutes,
    ...projectRoutes,
    ...usageRoutes,
    ...auditRoutes,
    ...securityEventRoutes,
    ...workspaceRoutes,
    ...memberRoutes,
    ...secretKeyRoutes,
    ...embedRoutes,
    ...accountRoutes,
  ]),
])

const folder = '/app'
/** Outside of the folder, at the addresses that mails contain. */
const mailed: readonly string[] = Object.values(mailedPages)

export const makeRouter = (client: QueryClient) =>
  createRouter({
    routeTree,
    context: { client },
    rewrite: {
      input({ url }) {
        if (url.pathname === folder || url.pathname.startsWith(`${folder}/`))
          url.pathname = url.pathname.slice(folder.length) || '/'
        return url
      },
      output({ url }) {
        if (!mailed.includes(url.pathname)) url.pathname = folder + url.pathname
        return url
      },
    },
    // Plain text, so that an address reads as it is typed: ?q=123 is a text like every other.
    parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch(search) {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
      const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
      return text === '' ? '' : `?${text}`
    },
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingComponent: PagePending,
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: PageMissing,
    scrollRestoration: true,
  })

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
