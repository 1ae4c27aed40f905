/** APIs that the vendor protects. `actions.ts` has the rules; deleting a project revokes its keys. */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const projects = { routes } satisfies Room
