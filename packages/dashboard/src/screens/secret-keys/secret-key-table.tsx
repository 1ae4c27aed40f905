import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { Anchor, Badge, Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { listSecretKeys } from '../../api/secret-keys.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { TwoLines } from '../../components/two-lines.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useNames } from '../../components/use-names.ts'
import { usePeople } from '../../components/use-people.ts'
import { useHasRole, useMe } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { makerOf, rightsOf, standingOf, titleOf } from './in-words.ts'
import classes from './secret-keys.module.css'

interface Changes {
  readonly onRotate: (key: SecretKey) => void
  readonly onRevoke: (key: SecretKey) => void
}

interface SecretKeyTableProps {
  readonly showsRevoked: boolean
  /** Null: the person may change none. */
  readonly changes: Changes | null
  readonly empty: ReactNode
}

export function SecretKeyTable({ showsRevoked, changes, empty }: SecretKeyTableProps) {
  const env = useEnv()
  const me = useMe()
  const isOwner = useHasRole('owner')
  const list = useList('secret-keys', listSecretKeys, {
    env,
    include_revoked: showsRevoked ? 'true' : undefined,
  })
  const { data: people } = usePeople()
  const shownKeys = rowsOf(list)
  const projectName = useNames(
    'projects',
    shownKeys.flatMap(({ project_ids }) => (project_ids?.length === 1 ? project_ids : [])),
  )
  const columns = columnsOf(projectName, key => makerOf(key, me.id, people, shownKeys), changes !== null)
  return (
    <ListTable
      label="Secret keys"
      list={list}
      idOf={({ id }) => id}
      columns={changes === null ? columns : [...columns, changingOf(changes, isOwner)]}
      empty={empty}
    />
  )
}

const columnsOf = (
  projectName: (id: string) => string,
  maker: (key: SecretKey) => ReactNode,
  isChanging: boolean,
): Column<SecretKey>[] => [
  {
    header: 'Key',
    cell: ({ id, name, display_prefix }) => (
      <>
        <Anchor
          className={classes.name}
          renderRoot={props => (
            <Link {...props} to="/settings/secret-keys/$secretKeyId" params={{ secretKeyId: id }} />
          )}
        >
          {name ?? 'No name'}
        </Anchor>
        <code className={classes.prefix}>{display_prefix}…</code>
      </>
    ),
    sortBy: ({ name }) => name,
  },
  {
    header: 'Role and rights',
    cell: key => (
      <TwoLines
        first={`${key.role === 'owner' ? 'Owner' : 'Admin'}, ${key.env}`}
        second={rightsOf(key, projectName)}
      />
    ),
    from: 'sm',
  },
  { header: 'Made by', cell: maker, from: 'md' },
  {
    header: 'Last used',
    cell: ({ last_used_at }) => <RelativeTime at={last_used_at} />,
    from: 'sm',
    sortBy: ({ last_used_at }) => last_used_at,
  },
  {
    header: 'Expires',
    cell: ({ expires_at }) => <RelativeTime at={expires_at} />,
    from: 'lg',
    sortBy: ({ expires_at }) => expires_at,
  },
  {
    header: 'Created',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
    from: 'lg',
    sortBy: ({ created_at }) => created_at,
  },
  {
    header: 'Status',
    cell: key => <Standing of={key} />,
    ...(isChanging && { from: 'sm' }),
  },
]

const changingOf = (changes: Changes, isOwner: boolean): Column<SecretKey> => ({
  header: 'Change',
  cell: key => {
    if (key.revoked_at !== null)
      return (
        <OnPhone>
          <Standing of={key} />
        </OnPhone>
      )
    // A successor has the role of its key, so only an owner may have that of an owner's key.
    const isRotatable = standingOf(key, Date.now()) === 'Active' && (isOwner || key.role === 'admin')
    return (
      <>
        <OnPhone>
          <Standing of={key} />
        </OnPhone>
        <div className={classes.changes}>
          {isRotatable ? (
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Rotate ${titleOf(key)}`}
              onClick={() => changes.onRotate(key)}
            >
              Rotate
            </Button>
          ) : null}
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Revoke ${titleOf(key)}`}
            onClick={() => changes.onRevoke(key)}
          >
            Revoke
          </Button>
        </div>
      </>
    )
  },
})

function Standing({ of: key }: { readonly of: SecretKey }) {
  const standing = standingOf(key, Date.now())
  return (
    <Badge miw="max-content" variant={standing === 'Active' ? 'light' : 'default'}>
      {standing}
    </Badge>
  )
}
