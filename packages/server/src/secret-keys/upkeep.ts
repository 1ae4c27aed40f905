import { type Chore, pruneSome, untilNone } from '../platform/db/upkeep.ts'
import { pruneEndingRows, pruneSecretKeyRows } from './ending-sql.ts'

/** Forgets thirty days later what ended with a maker; the audit log keeps it. A leak's letter is sent long before. */
export const pruneEndings: Chore = {
  name: 'ends of makers',
  run: client => untilNone(async () => (await client.query(pruneEndingRows)).rowCount ?? 0),
}

/** Deletes secret keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedSecretKeys: Chore = {
  name: 'ended secret keys',
  run: client => pruneSome(client, pruneSecretKeyRows),
}
