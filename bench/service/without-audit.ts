import type { Db } from '../../packages/server/src/platform/db/db.ts'
import type { Pool } from '../../packages/server/src/platform/db/pool/pool.ts'

/**
 * The store without the audit chain: it drops the statements that a mutation keeps for the end, which are the audit
 * rows and nothing else. The service has no setting for this; only a bench composes it.
 */
export const withoutAudit = (pool: Pool): Pool => ({ ...pool, bind: bound => withoutLast(pool.bind(bound)) })

function withoutLast(db: Db): Db {
  return {
    inWorkspace: (workspaceId, work, options) =>
      db.inWorkspace(workspaceId, tx => work({ ...tx, sendLast: () => {} }), options),
    readAtOnce: (workspaceId, work) => db.readAtOnce(workspaceId, work),
    asPerson: (userId, work, options) => db.asPerson(userId, work, options),
    by: deadline => withoutLast(db.by(deadline)),
  }
}
