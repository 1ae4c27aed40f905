import { invitesEndedByRestore } from './invites/restored.ts'
import { endingsOfRestore } from './people/restored.ts'
import type { Connection } from './platform/db/connection.ts'
import {
  type Restore,
  type RestoreOptions,
  type RoomsOfRestore,
  restoreDump,
  tryRestoring,
} from './platform/db/dump/restore.ts'
import { billingLinksEndedByRestore } from './workspace/restored.ts'

const endings = [...endingsOfRestore, ...invitesEndedByRestore, billingLinksEndedByRestore]
const rooms: RoomsOfRestore = { inUse: 'workspaces', raised: 'policy_heads', endings }

/**
 * Replaces what Keyrail has in a database by what a backup holds, all of it or nothing.
 * @throws {DumpRefused} saying why and what to do; the database is then as it was, as after any other error.
 */
export const restore = (
  connection: Connection,
  path: string,
  options: RestoreOptions = {},
): Promise<Restore> => restoreDump(connection, path, rooms, options)

/** @throws saying why no backup can be restored into this database, which stays as it was. */
export const tryRestore = (connection: Connection): Promise<void> => tryRestoring(connection, rooms)
