import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneEventRows } from './sql.ts'

export const pruneSecurityEvents: Chore = {
  name: 'security events',
  run: client => untilNone(async () => (await client.query(pruneEventRows)).rowCount ?? 0),
}
