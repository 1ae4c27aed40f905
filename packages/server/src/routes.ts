import { auditRoutes } from './audit/routes.ts'
import { embedRoutes } from './embed/routes.ts'
import type { Route } from './gate/route.ts'
import { healthRoutes } from './health/routes.ts'
import { idempotencyRoutes } from './idempotency/routes.ts'
import { inviteRoutes } from './invites/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { peopleRoutes } from './people/routes.ts'
import { policyRoutes } from './policy/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { ratelimitRoutes } from './ratelimit/routes.ts'
import { secretKeyRoutes } from './secret-keys/routes.ts'
import { securityEventRoutes } from './security-events/routes.ts'
import { tenantRoutes } from './tenants/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { workspaceRoutes } from './workspace/routes.ts'

/** Every route of the service, in the order of the API reference. */
export const routes: readonly Route[] = [
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
  ...webhookRoutes,
  ...auditRoutes,
  ...securityEventRoutes,
  ...healthRoutes,
]
