import { auditRoutes } from './audit/routes.ts'
import type { Deps } from './deps.ts'
import { embedRoutes } from './embed/routes.ts'
import type { Route } from './gate/route.ts'
import { healthRoutes } from './health/routes.ts'
import { idempotencyRoutes } from './idempotency/routes.ts'
import { inviteRoutes } from './invites/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { leakRoutes } from './leaks/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { overviewRoutes } from './overview/routes.ts'
import { peopleRoutes } from './people/routes.ts'
import { policyRoutes } from './policy/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { ratelimitRoutes } from './ratelimit/routes.ts'
import { secretKeyRoutes } from './secret-keys/routes.ts'
import { securityEventRoutes } from './security-events/routes.ts'
import { tenantRoutes } from './tenants/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { workspaceRoutes } from './workspace/routes.ts'

/** Every route of the service, in the order of the API reference. */
export const routes: readonly Route<Deps>[] = [
  ...peopleRoutes,
  ...workspaceRoutes,
  ...memberRoutes,
  ...inviteRoutes,
  ...secretKeyRoutes,
  ...projectRoutes,
  ...tenantRoutes,
  ...keyRoutes,
  ...embedRoutes,
  ...policyRoutes,
  ...ratelimitRoutes,
  ...idempotencyRoutes,
  ...usageRoutes,
  ...overviewRoutes,
  ...leakRoutes,
  ...auditRoutes,
  ...securityEventRoutes,
  ...healthRoutes,
]
