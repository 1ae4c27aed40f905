import type {
  AuditChain,
  AuditChainProgress,
  AuditExport,
  AuditExported,
  AuditLogList,
  AuditLogs,
} from '@keyrail/contract/vendor/audit'
import { endpoint } from './endpoint.ts'

export const listAuditLogs = endpoint<{ query: AuditLogList; answer: AuditLogs }>('GET', '/v1/audit_logs')
export const verifyAuditChain = endpoint<{ answer: AuditChain; step: AuditChainProgress }>(
  'GET',
  '/v1/audit_logs/chain',
)
export const exportAuditLogs = endpoint<{ query: AuditExport; answer: AuditExported }>(
  'GET',
  '/v1/audit_logs/export',
)
