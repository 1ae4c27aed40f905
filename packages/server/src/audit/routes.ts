/**
 * The audit log and its hash chain. `chain.ts` has the bytes, `append.ts` writes a row, `list.ts` reads rows, and
 * `verify.ts` checks a chain in a separate thread; `chain-lines.ts` says how far it is.
 */

import {
  AuditChain,
  AuditChainLines,
  AuditExport,
  AuditExported,
  AuditLogList,
  AuditLogs,
  CheckpointKeys,
} from '@keyrail/contract/vendor/audit'
import { readers } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { wantsLines } from '../platform/http/json-lines.ts'
import { verifyInLines } from './chain-lines.ts'
import { exportAuditLogs } from './export.ts'
import { listAuditLogs } from './list.ts'
import type { AuditNeeds } from './needs.ts'

const { openRoute, vendorRoute } = routesFor<AuditNeeds>()

export const auditRoutes: Route<AuditNeeds>[] = [
  vendorRoute('GET', '/v1/audit_logs', {
    operation: 'listAuditLogs',
    summary: 'List audit events',
    description:
      'Returns the rows of the audit log, oldest first or newest first, all of them or those of an action, an actor, a target or an environment.',
    access: readers('audit:read'),
    query: AuditLogList,
    answer: AuditLogs,
    handle: async (deps, { db, principal, query }) => ({
      body: await listAuditLogs(deps, db, principal, query),
    }),
  }),
  vendorRoute('GET', '/v1/audit_logs/export', {
    operation: 'exportAuditLogs',
    summary: 'Export the audit log',
    description:
      'Streams the whole log, or everything after a row, as one JSON object per line. If the connection breaks, continue after the last complete line.',
    access: readers('audit:read'),
    query: AuditExport,
    answer: AuditExported,
    answerType: 'application/x-ndjson',
    refusals: ['too_many_requests'],
    handle: async (deps, { db, principal, query, judgeAgain }) => ({
      body: await exportAuditLogs(deps, db, principal, query.after_seq ?? 0, judgeAgain),
    }),
  }),
  vendorRoute('GET', '/v1/audit_logs/chain', {
    operation: 'verifyAuditChain',
    summary: 'Verify the audit chain',
    description:
      'Recomputes every hash of the chain and returns the first position that does not match. A valid chain also returns a signed checkpoint. With `Accept: application/x-ndjson`, lines of JSON say how far it is, and the last one is the result, or the problem that prevented it.',
    access: readers('audit:read'),
    answer: AuditChain,
    lines: AuditChainLines,
    refusals: ['too_many_requests'],
    handle: async (
      { auditHeads: { verifyChain } },
      { principal: { workspaceId }, header, judgeAgain, hangUp },
    ) => ({
      body: wantsLines(header('accept'))
        ? await verifyInLines(verifyChain, workspaceId, judgeAgain, hangUp())
        : await verifyChain(workspaceId),
    }),
  }),
  ...['', '/v1'].map(prefix =>
    openRoute('GET', `${prefix}/.well-known/audit-checkpoint-key`, {
      operation: prefix === '' ? 'getCheckpointKey' : 'getCheckpointKeyV1',
      summary: 'Get the checkpoint key',
      description: 'Returns the public key that verifies signed checkpoints of the audit chain.',
      answer: CheckpointKeys,
      refusals: ['unavailable'],
      handle: async ({ auditHeads }) => ({
        body: { verifier_keys: [await auditHeads.verifierKey()] },
        headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
      }),
    }),
  ),
]
