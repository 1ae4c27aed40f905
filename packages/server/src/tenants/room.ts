/**
 * The customers of a vendor. `actions.ts` has the rules, `update.ts` changes fields, `suspend.ts` suspends and resumes, `meet.ts` creates a tenant that a mint names, `resource.ts` is
 * the shape of the API.
 */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const tenants = { routes } satisfies Room
