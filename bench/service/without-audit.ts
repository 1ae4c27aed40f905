import type { Db } from '../../packages/server/src/platform/db/pool.ts'

/**
 * The store without the audit chain: the statements that a mutation keeps for the end, which are the audit
 * rows and nothing else, are dropped. No setting of the service does this; a bench has to compose it.
 */
export function withoutAudit(db: Db): Db {
  return {
    ...db,
    inWorkspace: (workspaceId, work, options) =>
      db.inWorkspace(workspaceId, tx => work({ ...tx, sendLast: () => {} }), options),
    until: deadline => withoutAudit(db.until(deadline)),
    holding: right => withoutAudit(db.holding(right)),
    forStranger: network => withoutAudit(db.forStranger(network)),
    forService: name => withoutAudit(db.forService(name)),
  }
}
