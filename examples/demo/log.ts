import type { AuditChain, AuditLog } from '@keyrail/contract/vendor/audit'
import { type Conversation, expect, paint, print } from './talk.ts'
import type { Vendor } from './vendor.ts'

/** The vendor's actions by the end, as the audit log must list them. */
const history = [
  'workspace.created',
  'workspace_member.joined',
  'secret_key.created',
  'workspace_invite.created',
  'workspace_member.joined',
  'project.created',
  'tenant.created',
  'api_key.created',
  'api_key.rotated',
  'api_key.revoked',
  'secret_key.created',
  'api_key.revoked',
  'api_key.created',
  'api_key.revoked',
  'api_key.created',
  'api_key.revoked',
]

/** The vendor reads who did what, and verifies that the log was not changed. */
export async function proveIt(talk: Conversation, { token, key: { key } }: Vendor): Promise<void> {
  const audit = await talk.ask<{ data: AuditLog[] }>({
    title: 'Who did what? The audit log, oldest first',
    method: 'GET',
    path: '/v1/audit_logs',
    token,
    status: 200,
    show: ['has_more'],
  })
  for (const row of audit.data) {
    print(
      `   ${String(row.seq).padStart(3)}  ${row.action.padEnd(24)} by ${row.actor_type.padEnd(11)} ${row.hash}`,
    )
  }
  print('')
  expect(
    audit.data.map(({ action }) => action).join() === history.join(),
    'the log lists all of it, in order',
  )
  expect(!JSON.stringify(audit).includes(key), 'the log holds no key')

  const chain = await talk.ask<AuditChain>({
    title: 'Has the log been changed? The demo recomputes every hash',
    method: 'GET',
    path: '/v1/audit_logs/chain',
    token,
    status: 200,
    show: ['valid', 'checked', 'head_seq', 'head_hash'],
  })
  expect(
    chain.valid && chain.checked === history.length,
    'the chain is intact from its first row to its last',
  )
  expect(chain.head_hash === audit.data.at(-1)?.hash, 'the chain ends where the log ends')
  print(
    paint('green', `The audit chain is verified: ${chain.checked} rows, unchanged since they were written.`),
  )
}
