/** Liveness without any I/O, and readiness: the database answers and its schema is new enough. Also under /v1. */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const health = { routes } satisfies Room
