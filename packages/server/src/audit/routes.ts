import {
  AuditChain,
  AuditExport,
  AuditExported,
  AuditLogList,
  AuditLogs,
  CheckpointKeys,
} from '@keyrail/contract/vendor/audit'
import { readers } from '../gate/access.ts'
import { openRoute, type Route, vendorRoute } from '../gate/route.ts'
import { page } from '../platform/cursor.ts'
import { exportAuditLogs } from './export.ts'
import { toAuditLog } from './resource.ts'
import { listAuditRows } from './sql.ts'

export const auditRoutes: Route[] = [
  vendorRoute('GET', '/v1/audit_logs', {
    operation: 'listAuditLogs',
    summary: 'Read the audit log, oldest first',
    access: readers('audit:read'),
    query: AuditLogList,
    answer: AuditLogs,
    handle: async ({ db, cursors }, { principal, query }) => {
      const { workspaceId, reach } = principal
      const { limit = 50, after_seq = 0, cursor } = query
      const after = cursor === undefined ? after_seq : Number(cursors.open('audit_logs', workspaceId, cursor))
      const rows = await db.inWorkspace(workspaceId, tx => listAuditRows(tx, reach, after, limit))
      const toItem = (row: (typeof rows)[number]) => toAuditLog(workspaceId, principal, row)
      return {
        body: page(rows, limit, toItem, last => cursors.seal('audit_logs', workspaceId, String(last.seq))),
      }
    },
  }),
  vendorRoute('GET', '/v1/audit_logs/export', {
    operation: 'exportAuditLogs',
    summary: 'Read the whole audit log, or all behind a row, as lines of JSON',
    access: readers('audit:read'),
    query: AuditExport,
    answer: AuditExported,
    answerType: 'application/x-ndjson',
    refusals: ['too_many_requests'],
    handle: async (deps, { principal, query, judgeAgain }) => ({
      body: await exportAuditLogs(deps, principal, query.after_seq ?? 0, judgeAgain),
    }),
  }),
  vendorRoute('GET', '/v1/audit_logs/chain', {
    operation: 'verifyAuditChain',
    summary: 'Re-derive every hash of the audit chain and name the first position that does not hold',
    access: readers('audit:read'),
    answer: AuditChain,
    refusals: ['too_many_requests'],
    handle: async ({ auditHeads }, { principal }) => ({
      body: await auditHeads.verifyChain(principal.workspaceId),
    }),
  }),
  ...['', '/v1'].map(prefix =>
    openRoute('GET', `${prefix}/.well-known/audit-checkpoint-key`, {
      operation: prefix === '' ? 'getCheckpointKey' : 'getCheckpointKeyV1',
      summary: 'What verifies the checkpoints of audit chains',
      answer: CheckpointKeys,
      refusals: ['unavailable'],
      handle: async ({ auditHeads }) => ({
        body: { verifier_keys: [await auditHeads.verifierKey()] },
        headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
      }),
    }),
  ),
]
