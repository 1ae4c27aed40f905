import type { Deps } from './deps.ts'
import type { Route } from './gate/route.ts'
import { rooms } from './rooms.ts'

const byRoom: readonly (readonly Route<Deps>[])[] = rooms.map(room => ('routes' in room ? room.routes : []))

/** Every route of the service, in the order of the API reference. */
export const routes: readonly Route<Deps>[] = byRoom.flat()
