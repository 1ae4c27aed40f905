import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneEndingRows } from './ending-sql.ts'

/** Forgets thirty days later what ended with a maker; the audit log keeps it. A leak's letter is sent long before. */
export const pruneEndings: Chore = {
  name: 'ends of makers',
  run: client => untilNone(async () => (await client.query(pruneEndingRows)).rowCount ?? 0),
}
