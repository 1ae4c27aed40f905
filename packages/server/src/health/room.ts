import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const health = { routes } satisfies Room
