/** The state of a workspace in one answer. `sql.ts` bounds what each figure reads. */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const overview = { routes } satisfies Room
