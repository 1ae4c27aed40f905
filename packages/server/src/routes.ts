import { routes as auditRoom } from './audit/routes.ts'
import type { Deps } from './deps.ts'
import { routes as embedRoom } from './embed/routes.ts'
import type { Route } from './gate/route.ts'
import { routes as healthRoom } from './health/routes.ts'
import { routes as idempotencyRoom } from './idempotency/routes.ts'
import { routes as inviteRoom } from './invites/routes.ts'
import { routes as keyRoom } from './keys/routes.ts'
import { routes as leakRoom } from './leaks/routes.ts'
import { routes as memberRoom } from './members/routes.ts'
import { routes as overviewRoom } from './overview/routes.ts'
import { routes as peopleRoom } from './people/routes.ts'
import { routes as policyRoom } from './policy/routes.ts'
import { routes as projectRoom } from './projects/routes.ts'
import { routes as ratelimitRoom } from './ratelimit/routes.ts'
import { routes as secretKeyRoom } from './secret-keys/routes.ts'
import { routes as securityEventRoom } from './security-events/routes.ts'
import { routes as tenantRoom } from './tenants/routes.ts'
import { routes as usageRoom } from './usage/routes.ts'
import { routes as workspaceRoom } from './workspace/routes.ts'

/** Every route of the service, in the order of the API reference. */
export const routes: readonly Route<Deps>[] = [
  ...peopleRoom,
  ...workspaceRoom,
  ...memberRoom,
  ...inviteRoom,
  ...secretKeyRoom,
  ...projectRoom,
  ...tenantRoom,
  ...keyRoom,
  ...embedRoom,
  ...policyRoom,
  ...ratelimitRoom,
  ...idempotencyRoom,
  ...usageRoom,
  ...overviewRoom,
  ...leakRoom,
  ...auditRoom,
  ...securityEventRoom,
  ...healthRoom,
]
