import { auditRoutes } from '@keyrail/contract/routes/audit'
import { readers } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { wantsLines } from '../platform/http/body/json-lines.ts'
import { verifyInLines } from './chain-lines.ts'
import { exportAuditLogs } from './export.ts'
import { listAuditLogs } from './list.ts'
import type { AuditNeeds } from './needs.ts'

const serve = servedWith<AuditNeeds>()

const checkpointKey = {
  async handle({ auditHeads }: AuditNeeds) {
    return {
      body: { verifier_keys: [await auditHeads.verifierKey()] },
      headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
    }
  },
}

export const routes = serve(auditRoutes, {
  'GET /v1/audit_logs': {
    access: readers,
    handle: async (deps, { db, principal, query }) => ({
      body: await listAuditLogs({ deps, db, principal }, query),
    }),
  },
  'GET /v1/audit_logs/export': {
    access: readers,
    handle: async (deps, { db, principal, query, judgeAgain }) => ({
      body: await exportAuditLogs({ deps, db, principal }, query.after_seq ?? 0, judgeAgain),
    }),
  },
  'GET /v1/audit_logs/chain': {
    access: readers,
    handle: async (
      { auditHeads: { verifyChain } },
      { principal: { workspaceId }, header, judgeAgain, hangUp },
    ) => ({
      body: wantsLines(header('accept'))
        ? await verifyInLines(verifyChain, workspaceId, judgeAgain, hangUp())
        : await verifyChain(workspaceId),
    }),
  },
  'GET /.well-known/audit-checkpoint-key': checkpointKey,
  'GET /v1/.well-known/audit-checkpoint-key': checkpointKey,
})
