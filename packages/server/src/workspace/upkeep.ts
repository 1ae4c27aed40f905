import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeLoads } from './load-sql.ts'

const rowsAtOnce = 1_000

/** Deletes hours after two days: the figures show the last one. */
export const pruneWorkspaceLoads: Chore = {
  name: 'workspace loads',
  run: client =>
    untilNone(async () => (await client.query({ ...removeLoads, values: [rowsAtOnce] })).rowCount ?? 0),
}
