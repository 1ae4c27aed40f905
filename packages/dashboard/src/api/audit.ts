import { endpoint } from './endpoint.ts'

export const listAuditLogs = endpoint('GET /v1/audit_logs')
export const verifyAuditChain = endpoint('GET /v1/audit_logs/chain')
export const exportAuditLogs = endpoint('GET /v1/audit_logs/export')
