import type { Env } from '@keyrail/contract/shared'
import type { Key } from '@keyrail/contract/vendor/keys'
import { Anchor, Badge, Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { listKeys } from '../api/keys.ts'
import { Clip } from './clip.tsx'
import { CodeBlock } from './code-block.tsx'
import { createSamples } from './create-samples.ts'
import { Empty } from './empty.tsx'
import { type Column, ListTable } from './list-table.tsx'
import { RelativeTime } from './relative-time.tsx'
import { TwoLines } from './two-lines.tsx'
import { rowsOf, useList } from './use-list.ts'
import { useNames } from './use-names.ts'

/** The tenant or project of the keys: the filter of the API, and the search parameter of the keys screen. */
const owners = {
  tenant: { field: 'tenant_id', other: 'project_id', header: 'Project', names: 'projects' },
  project: { field: 'project_id', other: 'tenant_id', header: 'Tenant', names: 'tenants' },
} as const

interface KeysOfProps {
  readonly noun: keyof typeof owners
  readonly id: string
  readonly env: Env
  /** Only so many of the newest; the screen of keys has all. By default, every one can be loaded. */
  readonly most?: number
}

/** The keys of a tenant or project in one environment, without the revoked ones. */
export function KeysOf({ noun, id, env, most }: KeysOfProps) {
  const { field, other, header, names } = owners[noun]
  const list = useList('keys', listKeys, { [field]: id, env, limit: most })
  const nameOf = useNames(
    names,
    rowsOf(list).map(key => key[other]),
  )
  const columns: Column<Key>[] = [
    {
      header: 'Key',
      isTall: true,
      cell: ({ id, name, display_prefix, disabled_at }) => (
        // Keys that replaced each other have the same name, so their prefixes stand below it.
        <TwoLines
          first={
            // The screens of keys are in a folder of screens, so their addresses are plain texts here.
            <Anchor renderRoot={props => <Link to={`/keys/${id}` as string} {...props} />}>
              <Clip text={name ?? 'Unnamed'} />
            </Anchor>
          }
          second={
            <>
              <code>{display_prefix}…</code>
              {/* A service that is older than the page sends no `disabled_at`. */}
              {disabled_at ? ' Paused' : null}
            </>
          }
        />
      ),
    },
    { header, cell: key => <Clip text={nameOf(key[other])} isNarrow />, from: 'md' },
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
      label={`Keys of this ${noun}`}
      list={list}
      rowsWaiting={2}
      idOf={({ id }) => id}
      columns={columns}
      empty={<NoKeys owner={{ [field]: id }} env={env} />}
      {...(most !== undefined && { more: <AllKeys noun={noun} id={id} /> })}
    />
  )
}

const AllKeys = ({ noun, id }: Pick<KeysOfProps, 'noun' | 'id'>) => (
  <Anchor
    underline="always"
    renderRoot={props => <Link to={'/keys' as string} search={{ [noun]: id } as object} {...props} />}
  >
    All keys of this {noun}
  </Anchor>
)

const NoKeys = ({ owner, env }: { owner: object; env: Env }) => (
  <Empty title={`No ${env} keys yet`}>
    <p>Keys are created under Keys, or by your backend.</p>
    <CodeBlock
      label="Create a key"
      samples={createSamples(location.origin, 'keys', {
        project_id: 'PROJECT_ID',
        tenant_id: 'TENANT_ID',
        ...owner,
        env,
      })}
    />
  </Empty>
)

/** Opens the form of the keys screen, with the tenant or project chosen. */
export const CreateKeyLink = ({ noun, id }: Pick<KeysOfProps, 'noun' | 'id'>) => (
  <Button
    renderRoot={props => (
      <Link {...props} to={'/keys' as string} search={{ [noun]: id, create: 'open' } as object} />
    )}
  >
    Create key
  </Button>
)
