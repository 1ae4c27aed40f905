import { audit } from './audit/room.ts'
import { dashboard } from './dashboard/room.ts'
import { embed } from './embed/room.ts'
import { explain } from './explain/room.ts'
import { health } from './health/room.ts'
import { idempotency } from './idempotency/room.ts'
import { invites } from './invites/room.ts'
import { keys } from './keys/room.ts'
import { leaks } from './leaks/room.ts'
import { members } from './members/room.ts'
import { overview } from './overview/room.ts'
import { people } from './people/room.ts'
import { policy } from './policy/room.ts'
import { projects } from './projects/room.ts'
import { ratelimit } from './ratelimit/room.ts'
import { secretKeys } from './secret-keys/room.ts'
import { securityEvents } from './security-events/room.ts'
import { tenants } from './tenants/room.ts'
import { transfer } from './transfer/room.ts'
import { usage } from './usage/room.ts'
import { verify } from './verify/room.ts'
import { workspace } from './workspace/room.ts'

/** The rooms of the service, in the order of the API reference. A room opens after those that it needs. */
export const rooms = [
  people,
  members,
  invites,
  secretKeys,
  workspace,
  projects,
  tenants,
  keys,
  transfer,
  explain,
  embed,
  policy,
  ratelimit,
  idempotency,
  usage,
  verify,
  overview,
  leaks,
  audit,
  securityEvents,
  health,
  dashboard,
] as const
