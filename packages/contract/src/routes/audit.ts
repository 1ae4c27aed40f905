import {
  AuditChain,
  AuditChainLines,
  AuditChainProgress,
  AuditExport,
  AuditExported,
  AuditLogList,
  AuditLogs,
  CheckpointKeys,
} from '../vendor/audit.ts'
import { declareRoutes } from './declare.ts'

const checkpointKey = {
  plane: 'open',
  summary: 'Get the checkpoint key',
  description: 'Returns the public key that verifies signed checkpoints of the audit chain.',
  answer: CheckpointKeys,
  refusals: ['unavailable'],
} as const

export const auditRoutes = declareRoutes({
  'GET /v1/audit_logs': {
    plane: 'vendor',
    operation: 'listAuditLogs',
    summary: 'List audit events',
    description:
      'Returns the rows of the audit log, oldest first or newest first, all of them or those of an action, an actor, a target or an environment.',
    permission: 'audit:read',
    query: AuditLogList,
    answer: AuditLogs,
  },
  'GET /v1/audit_logs/export': {
    plane: 'vendor',
    operation: 'exportAuditLogs',
    summary: 'Export the audit log',
    description:
      'Streams the whole log, or everything after a row, as one JSON object per line. If the connection breaks, continue after the last complete line.',
    permission: 'audit:read',
    query: AuditExport,
    answer: AuditExported,
    answerType: 'application/x-ndjson',
    refusals: ['too_many_requests'],
  },
  'GET /v1/audit_logs/chain': {
    plane: 'vendor',
    operation: 'verifyAuditChain',
    summary: 'Verify the audit chain',
    description:
      'Recomputes every hash of the chain and returns the first position that does not match. A valid chain also returns a signed checkpoint. With `Accept: application/x-ndjson`, lines of JSON say how far it is, and the last one is the result, or the problem that prevented it.',
    permission: 'audit:read',
    answer: AuditChain,
    lines: AuditChainLines,
    step: AuditChainProgress,
    refusals: ['too_many_requests'],
  },
  'GET /.well-known/audit-checkpoint-key': { ...checkpointKey, operation: 'getCheckpointKey' },
  'GET /v1/.well-known/audit-checkpoint-key': { ...checkpointKey, operation: 'getCheckpointKeyV1' },
})
