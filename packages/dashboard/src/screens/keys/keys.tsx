import type { Key } from '@keyrail/contract/vendor/keys'
import { Button } from '@mantine/core'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useState } from 'react'
import { listKeys } from '../../api/keys.ts'
import { Clip } from '../../components/clip.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { useSelection } from '../../components/selection.ts'
import { TwoLines } from '../../components/two-lines.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useNames, useSuspended } from '../../components/use-names.ts'
import { useHasRole } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { useCreating } from '../../shell/use-creating.ts'
import { CreateKeyDialog } from './create-key.tsx'
import { changesOf, type KeyChange } from './key-changes.ts'
import { KeyDialogs } from './key-dialogs.tsx'
import { Filters } from './key-filter-bar.tsx'
import type { KeyFilters } from './key-filters.ts'
import { KeyStateBadge } from './key-state.tsx'
import { sayLimits, stateOf, titleOf } from './key-words.ts'
import classes from './keys.module.css'
import { SelectionBar } from './selection-bar.tsx'

const route = getRouteApi('/shell/keys')

interface Changing {
  readonly key: Key
  readonly open: KeyChange | null
}

/** Most lists have keys. */
const NoKeys = lazy(async () => ({ default: (await import('./no-keys.tsx')).NoKeys }))

/** Each filter of the list, absent. */
const unfiltered = {
  q: undefined,
  status: undefined,
  hygiene: undefined,
  project: undefined,
  tenant: undefined,
}

export function Keys() {
  const env = useEnv()
  const filters = route.useSearch()
  const { q, status, hygiene, project, tenant } = filters
  const navigate = useNavigate()
  const isEditor = useHasRole('admin')
  const [isCreating, setCreating] = useCreating(isEditor)
  const [changing, setChanging] = useState<Changing | null>(null)
  const list = useList('keys', listKeys, {
    env,
    q,
    status,
    hygiene,
    project_id: project,
    tenant_id: tenant,
  })
  const rows = rowsOf(list)
  const selection = useSelection(JSON.stringify([env, q, status, hygiene, project, tenant]))
  const tenantIds = rows.map(key => key.tenant_id)
  const tenantName = useNames('tenants', tenantIds)
  const isSuspended = useSuspended(tenantIds)
  const projectName = useNames(
    'projects',
    rows.map(key => key.project_id),
  )
  const filter = useCallback(
    (next: KeyFilters) => void navigate({ to: '/keys', search: now => ({ ...now, ...next }), replace: true }),
    [navigate],
  )
  const isFiltered = [q, status, hygiene, project, tenant].some(one => one !== undefined)
  return (
    <PageFrame
      title="Keys"
      lead={isEditor ? undefined : 'You see keys as a member. An admin or an owner creates and changes them.'}
      action={isEditor ? <Button onClick={() => setCreating(true)}>Create key</Button> : undefined}
    >
      <Filters filters={filters} filter={filter} />
      {isEditor ? <SelectionBar selection={selection} rows={rows} filters={filters} env={env} /> : null}
      <ListTable
        label="Keys"
        list={list}
        idOf={({ id }) => id}
        columns={columnsOf(tenantName, projectName, isSuspended)}
        empty={
          <Suspense fallback={null}>
            <NoKeys env={env} isEditor={isEditor} />
          </Suspense>
        }
        onClearFilters={isFiltered ? () => filter(unfiltered) : undefined}
        selection={isEditor && status !== 'revoked' ? { ...selection, nameOf: titleOf } : undefined}
        menu={key => (
          <RowMenu
            name={titleOf(key)}
            page={`/keys/${key.id}`}
            copied={{ id: key.id }}
            // The page of a key that was rotated says whether its successor still works.
            actions={(isEditor ? changesOf(key, key.rotated_to !== null) : []).map(open => ({
              ...changeInWords[open],
              onChoose: () => setChanging({ key, open }),
            }))}
          />
        )}
      />
      {changing === null ? null : (
        <KeyDialogs
          key={changing.key.id}
          of={changing.key}
          open={changing.open}
          onClose={() => setChanging({ ...changing, open: null })}
        />
      )}
      {isEditor ? (
        <CreateKeyDialog
          isOpen={isCreating}
          onClose={() => setCreating(false)}
          projectId={project ?? null}
          tenantId={tenant ?? null}
        />
      ) : null}
    </PageFrame>
  )
}

const changeInWords = {
  edit: { label: 'Edit' },
  rotate: { label: 'Rotate key' },
  pause: { label: 'Pause key' },
  resume: { label: 'Resume key' },
  revoke: { label: 'Revoke key', isFinal: true },
} as const

const columnsOf = (
  tenantName: (id: string) => string,
  projectName: (id: string) => string,
  isSuspended: (tenantId: string) => boolean,
): Column<Key>[] => [
  {
    header: 'Key',
    isTall: true,
    sortBy: ({ name }) => name,
    cell: key => (
      <>
        <TwoLines
          first={
            <Link to="/keys/$keyId" params={{ keyId: key.id }} className={classes.name}>
              <Clip text={key.name ?? 'Unnamed'} isNarrow />
            </Link>
          }
          second={<span className={classes.prefix}>{key.display_prefix}…</span>}
        />
        <OnPhone>
          <Clip text={tenantName(key.tenant_id)} isNarrow />
        </OnPhone>
      </>
    ),
  },
  {
    header: 'Tenant and project',
    from: 'sm',
    sortBy: key => `${tenantName(key.tenant_id)} ${projectName(key.project_id)}`,
    cell: key => (
      <TwoLines
        first={<Clip text={tenantName(key.tenant_id)} isNarrow />}
        second={<Clip text={projectName(key.project_id)} isNarrow />}
      />
    ),
  },
  {
    header: 'Scopes and limits',
    from: 'lg',
    cell: key => (
      <TwoLines
        first={<Clip text={key.scopes.join(', ') || 'No scopes'} isNarrow />}
        second={<Clip text={sayLimits(key.rate_limits)} isNarrow />}
      />
    ),
  },
  {
    header: 'Last used',
    from: 'sm',
    cell: key => <RelativeTime at={key.last_used_at} />,
    sortBy: key => key.last_used_at,
  },
  {
    header: 'Expires',
    from: 'md',
    cell: key => <RelativeTime at={key.expires_at} />,
    sortBy: key => key.expires_at,
  },
  {
    header: 'Created',
    from: 'xl',
    cell: key => <RelativeTime at={key.created_at} />,
    sortBy: key => key.created_at,
  },
  {
    header: 'Status',
    sortBy: key => stateOf(key),
    cell: key =>
      isSuspended(key.tenant_id) ? (
        <TwoLines first={<KeyStateBadge of={key} isSuspended />} second="Tenant suspended" />
      ) : (
        <KeyStateBadge of={key} />
      ),
  },
]
