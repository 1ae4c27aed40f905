/**
 * Members of a workspace and their roles. `actions.ts` changes and removes them, `accept.ts` makes a person a member,
 * `join.ts` writes the row, `resource.ts` is the shape of the API.
 */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const members = { routes } satisfies Room
