import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { Anchor, Badge, Button, Group } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listTenants } from '../../api/tenants.ts'
import { Clip } from '../../components/clip.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { createSamples } from '../../components/create-samples.ts'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { useList } from '../../components/use-list.ts'
import { useHasRole } from '../../session/me.ts'
import { useCreating } from '../../shell/use-creating.ts'
import { CreateTenant } from './create-tenant.tsx'
import { ResumeDialog, SuspendDialog } from './suspend-tenant.tsx'
import { DeleteTenantDialog, EndSessionsDialog, nameOf } from './tenant-dialogs.tsx'

const route = getRouteApi('/shell/tenants')

const columns: Column<Tenant>[] = [
  {
    header: 'Tenant',
    cell: ({ id, name, external_id, suspended_at }) => (
      <Group gap="xs">
        <Anchor renderRoot={props => <Link to="/tenants/$tenantId" params={{ tenantId: id }} {...props} />}>
          <Clip text={name ?? external_id} />
        </Anchor>
        {suspended_at ? <Badge variant="default">Suspended</Badge> : null}
      </Group>
    ),
    sortBy: nameOf,
  },
  {
    header: 'Your id',
    cell: ({ external_id }) => (
      <code>
        <Clip text={external_id} />
      </code>
    ),
    sortBy: ({ external_id }) => external_id,
  },
  {
    header: 'Changed',
    cell: ({ updated_at }) => <RelativeTime at={updated_at} />,
    from: 'md',
    sortBy: ({ updated_at }) => updated_at,
  },
  {
    header: 'Created',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
    from: 'sm',
    sortBy: ({ created_at }) => created_at,
  },
]

/** What a person wants to do with a tenant of the list. */
interface Asking {
  readonly tenant: Tenant
  readonly about: keyof typeof dialogs
}
const dialogs = {
  sessions: EndSessionsDialog,
  suspend: SuspendDialog,
  resume: ResumeDialog,
  end: DeleteTenantDialog,
}
function AskedDialog({ tenant, about, onClose }: Asking & { readonly onClose: () => void }) {
  const Dialog = dialogs[about]
  return <Dialog of={tenant} isOpen onClose={onClose} />
}

export function Tenants() {
  const { q } = route.useSearch()
  const navigate = route.useNavigate()
  const isEditor = useHasRole('admin')
  const [isCreating, setCreating] = useCreating(isEditor)
  const [asking, setAsking] = useState<Asking | null>(null)
  const list = useList('tenants', listTenants, { q })
  const search = (text: string) =>
    void navigate({ search: now => ({ ...now, q: text === '' ? undefined : text }), replace: true })
  return (
    <PageFrame
      title="Tenants"
      lead={
        isEditor
          ? 'A tenant is one of your customers. Every key belongs to one.'
          : 'A tenant is one of your customers. Every key belongs to one. An admin or an owner can create one.'
      }
      {...(isEditor && {
        action: <Button onClick={() => setCreating(true)}>Create tenant</Button>,
      })}
    >
      <SearchField label="Search by name or id" value={q ?? ''} onSearch={search} />
      <ListTable
        label="Tenants"
        list={list}
        idOf={({ id }) => id}
        columns={columns}
        empty={<NoTenants isEditor={isEditor} />}
        onClearFilters={q === undefined ? undefined : () => search('')}
        menu={tenant => (
          <RowMenu
            name={nameOf(tenant)}
            page={`/tenants/${tenant.id}`}
            copied={{ id: tenant.id, 'your id': tenant.external_id }}
            actions={
              isEditor
                ? [
                    {
                      label: 'End all embed sessions',
                      onChoose: () => setAsking({ tenant, about: 'sessions' }),
                    },
                    tenant.suspended_at
                      ? { label: 'Resume tenant', onChoose: () => setAsking({ tenant, about: 'resume' }) }
                      : { label: 'Suspend tenant', onChoose: () => setAsking({ tenant, about: 'suspend' }) },
                    {
                      label: 'Delete tenant',
                      onChoose: () => setAsking({ tenant, about: 'end' }),
                      isFinal: true,
                    },
                  ]
                : []
            }
          />
        )}
      />
      {asking === null ? null : <AskedDialog {...asking} onClose={() => setAsking(null)} />}
      <CreateTenant isOpen={isCreating} onClose={() => setCreating(false)} />
    </PageFrame>
  )
}

const NoTenants = ({ isEditor }: { readonly isEditor: boolean }) => (
  <Empty title="No tenants yet">
    <p>
      {isEditor
        ? 'Create the first one here, or from your backend when a customer signs up.'
        : 'Your backend can create one when a customer signs up.'}
    </p>
    <CodeBlock
      label="Create a tenant"
      samples={createSamples(location.origin, 'tenants', { external_id: 'customer-42', name: 'Globex' })}
    />
  </Empty>
)
