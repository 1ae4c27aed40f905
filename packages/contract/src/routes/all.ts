import type { auditRoutes } from './audit.ts'
import type { embedRoutes } from './embed.ts'
import type { explainRoutes } from './explain.ts'
import type { healthRoutes } from './health.ts'
import type { idempotencyRoutes } from './idempotency.ts'
import type { inviteRoutes } from './invites.ts'
import type { keyRoutes } from './keys.ts'
import type { leakRoutes } from './leaks.ts'
import type { memberRoutes } from './members.ts'
import type { overviewRoutes } from './overview.ts'
import type { peopleRoutes } from './people.ts'
import type { policyRoutes } from './policy.ts'
import type { projectRoutes } from './projects.ts'
import type { ratelimitRoutes } from './ratelimit.ts'
import type { secretKeyRoutes } from './secret-keys.ts'
import type { securityEventRoutes } from './security-events.ts'
import type { tenantRoutes } from './tenants.ts'
import type { transferRoutes } from './transfer.ts'
import type { usageRoutes } from './usage.ts'
import type { verifyRoutes } from './verify.ts'
import type { workspaceRoutes } from './workspace.ts'

/**
 * Every route by its name. A type: a client that names a route gets its shapes from here, and no schema is in its bundle.
 */
export type Routes = typeof auditRoutes &
  typeof embedRoutes &
  typeof explainRoutes &
  typeof healthRoutes &
  typeof idempotencyRoutes &
  typeof inviteRoutes &
  typeof keyRoutes &
  typeof leakRoutes &
  typeof memberRoutes &
  typeof overviewRoutes &
  typeof peopleRoutes &
  typeof policyRoutes &
  typeof projectRoutes &
  typeof ratelimitRoutes &
  typeof secretKeyRoutes &
  typeof securityEventRoutes &
  typeof tenantRoutes &
  typeof transferRoutes &
  typeof usageRoutes &
  typeof verifyRoutes &
  typeof workspaceRoutes
