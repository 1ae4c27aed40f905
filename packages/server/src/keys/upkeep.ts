import { type Chore, pruneSome } from '../platform/db/upkeep.ts'
import { pruneKeyRows } from './end-sql.ts'

/** Deletes keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedKeys: Chore = { name: 'ended keys', run: client => pruneSome(client, pruneKeyRows) }
