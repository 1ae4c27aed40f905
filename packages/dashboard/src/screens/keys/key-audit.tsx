import type { AuditLog } from '@keyrail/contract/vendor/audit'
import type { Key } from '@keyrail/contract/vendor/keys'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { listAuditLogs } from '../../api/audit.ts'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useList } from '../../components/use-list.ts'
import { Actor } from '../audit/actor.tsx'

const rowsAPage = 20

/** What happened to one key, newest first. */
export function KeyAudit({ of: { id, rotated_from } }: { readonly of: Pick<Key, 'id' | 'rotated_from'> }) {
  const list = useList('audit_logs', listAuditLogs, { target_id: id, order: 'desc', limit: rowsAPage })
  return (
    <ListTable
      label="Rows of the audit log"
      list={list}
      rowsWaiting={2}
      idOf={row => row.id}
      columns={columns}
      empty={
        rotated_from === null ? (
          <Empty title="No changes recorded" />
        ) : (
          <Empty title="No changes since it was issued">
            A rotation issued this key:{' '}
            <Anchor
              underline="always"
              inherit
              renderRoot={props => <Link to="/keys/$keyId" params={{ keyId: rotated_from }} {...props} />}
            >
              its predecessor
            </Anchor>{' '}
            has the row.
          </Empty>
        )
      }
    />
  )
}

const columns: Column<AuditLog>[] = [
  { header: 'When', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
  { header: 'What', cell: row => sayAction(row) },
  { header: 'Who', from: 'sm', cell: row => <Actor row={row} /> },
  { header: 'Row', isNumber: true, cell: ({ seq }) => seq },
]

const actions: Partial<Record<AuditLog['action'], string>> = {
  'api_key.created': 'Created',
  'api_key.imported': 'Imported',
  'api_key.updated': 'Changed',
  'api_key.rotated': 'Rotated',
  'api_key.revoked': 'Revoked',
  'api_key.disabled': 'Paused',
  'api_key.enabled': 'Resumed',
}

const labels: Readonly<Record<string, string>> = {
  name: 'name',
  scopes: 'scopes',
  meta: 'metadata',
  rate_limits: 'limits',
  expires_at: 'expiry',
}

function sayAction({ action, payload }: AuditLog): string {
  const label = actions[action] ?? action
  if (action === 'api_key.updated') {
    const names = Object.keys(payload ?? {}).flatMap(name => labels[name] ?? [])
    return names.length === 0 ? label : `${label}: ${names.join(', ')}`
  }
  const reason = payload?.reason
  return typeof reason === 'string' ? `${label}: ${reason}` : label
}
