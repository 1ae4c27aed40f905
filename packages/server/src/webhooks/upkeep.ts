import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneLeakRows } from './sql.ts'

/** Where credentials were found is kept by the audit log; what the mail needed of it goes. */
export const pruneLeaks: Chore = {
  name: 'leak reports',
  run: client => untilNone(async () => (await client.query(pruneLeakRows)).rowCount ?? 0),
}
