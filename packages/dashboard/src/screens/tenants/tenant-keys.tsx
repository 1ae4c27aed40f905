import type { Key } from '@keyrail/contract/vendor/keys'
import { Anchor, Badge } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { listKeys } from '../../api/keys.ts'
import { Clip } from '../../components/clip.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { createSamples } from '../../components/create-samples.ts'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { TwoLines } from '../../components/two-lines.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useNames } from '../../components/use-names.ts'
import { useEnv } from '../../shell/shell-route.tsx'

/** The keys of a tenant in the environment that the page shows, without the revoked ones. */
export function TenantKeys({ tenantId }: { tenantId: string }) {
  const env = useEnv()
  const list = useList('keys', listKeys, { tenant_id: tenantId, env })
  const projectName = useNames(
    'projects',
    rowsOf(list).map(({ project_id }) => project_id),
  )
  const columns: Column<Key>[] = [
    {
      header: 'Key',
      isTall: true,
      cell: ({ id, name, display_prefix }) => (
        // Keys that replaced each other have the same name, so what they begin with stands below it.
        <TwoLines
          first={
            // The screen of a key belongs to another folder, so its address is a plain text here.
            <Anchor renderRoot={props => <Link to={`/keys/${id}` as string} {...props} />}>
              <Clip text={name ?? 'Unnamed'} />
            </Anchor>
          }
          second={<code>{display_prefix}…</code>}
        />
      ),
    },
    {
      header: 'Project',
      cell: ({ project_id }) => <Clip text={projectName(project_id)} isNarrow />,
      from: 'md',
    },
    { header: 'Last used', cell: ({ last_used_at }) => <RelativeTime at={last_used_at} />, from: 'sm' },
    {
      header: 'Expires',
      cell: ({ expires_at }) =>
        expires_at !== null && new Date(expires_at).getTime() <= Date.now() ? (
          <Badge variant="default">Expired</Badge>
        ) : (
          <RelativeTime at={expires_at} />
        ),
    },
  ]
  return (
    <ListTable
      label="Keys of this tenant"
      list={list}
      rowsWaiting={2}
      idOf={({ id }) => id}
      columns={columns}
      empty={<NoKeys tenantId={tenantId} env={env} />}
    />
  )
}

const NoKeys = ({ tenantId, env }: { tenantId: string; env: string }) => (
  <Empty title={`No ${env} keys yet`}>
    <p>Keys are created under Keys, or by your backend.</p>
    <CodeBlock
      label="Create a key"
      samples={createSamples(location.origin, 'keys', { project_id: 'PROJECT_ID', tenant_id: tenantId, env })}
    />
  </Empty>
)
