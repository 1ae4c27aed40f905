import type { Env } from '@keyrail/contract/shared'
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { getKey, listKeys } from '../../api/keys.ts'
import { listProjects } from '../../api/projects.ts'
import { listTenants } from '../../api/tenants.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { searchLengthMax } from './key-filters.ts'
import { mayBeSecret } from './whole-key.ts'

type Noun = 'project' | 'tenant' | 'key'

interface NamedChoiceProps {
  readonly noun: Noun
  /** The keys that are offered. */
  readonly within?: { env: Env; project_id?: string | undefined; tenant_id?: string | undefined }
  /** The id of what is chosen; null when nothing is. */
  readonly value: string | null
  readonly onChange: (id: string | null) => void
  readonly label?: string
  readonly placeholder?: string
  readonly error?: ReactNode
  /** The field of the form, which gets the focus with its fault. */
  readonly 'data-path'?: string
  /** No choice means all of them. */
  readonly isFilter?: boolean
  readonly className?: string | undefined
}

interface Named {
  readonly id: string
  readonly text: string
}

const waitMs = 200

/** The first of these by a text. */
async function find(
  { noun, within }: Pick<NamedChoiceProps, 'noun' | 'within'>,
  q: string,
  signal: AbortSignal,
): Promise<Named[]> {
  const query = { q: q === '' ? undefined : q, limit: 20 }
  if (noun === 'key') {
    // A whole key must not get into an address.
    if (mayBeSecret(q)) return []
    const { data } = await listKeys({ query: { ...query, ...within, include_revoked: 'true' } }, { signal })
    return data.map(toNamedKey)
  }
  if (noun === 'project') {
    const { data } = await listProjects({ query }, { signal })
    return data.map(({ id, name }) => ({ id, text: name }))
  }
  const { data } = await listTenants({ query }, { signal })
  return data.map(({ id, name, external_id }) => ({
    id,
    text: name === null ? external_id : `${name} (${external_id})`,
  }))
}

const toNamedKey = ({
  id,
  name,
  display_prefix,
}: {
  id: string
  name: string | null
  display_prefix: string
}) => ({
  id,
  text: name === null ? display_prefix : `${name} (${display_prefix})`,
})

/** Its name, whatever the text. */
async function readChosen(noun: Noun, id: string, signal: AbortSignal): Promise<Named[]> {
  // An id of these is a search too.
  if (noun !== 'key') return await find({ noun }, id, signal)
  return [toNamedKey(await getKey({ id }, { signal }))]
}

/** Stands for no choice in a filter. */
const every = 'every'

/** Chooses a project, a tenant or a key by its name, as the service finds it. */
export function NamedChoice({ noun, within, value, onChange, isFilter = false, ...field }: NamedChoiceProps) {
  const [typed, setTyped] = useState('')
  // A screen with filters asks for their entries when a person does.
  const [wasOpened, setOpened] = useState(!isFilter)
  const chosen = useQuery({
    queryKey: [`${noun}s`, 'chosen', shownWorkspaceId(), value],
    queryFn: ({ signal }) => readChosen(noun, value ?? '', signal),
    enabled: value !== null,
  })
  const everyText = `Every ${noun}`
  const own = value === null ? [] : (chosen.data ?? [{ id: value, text: value }])
  // The field shows the name of what is chosen, which is no search.
  const isSearch = typed !== everyText && own.every(({ text }) => text !== typed)
  const [q] = useDebouncedValue(isSearch ? typed.trim().slice(0, searchLengthMax) : '', waitMs)
  const found = useQuery({
    queryKey: [`${noun}s`, 'choice', shownWorkspaceId(), q, within],
    queryFn: ({ signal }) => find({ noun, ...(within && { within }) }, q, signal),
    placeholderData: keepPreviousData,
    enabled: wasOpened,
  })
  const offered = found.data ?? []
  const all = [
    ...(isFilter ? [{ id: every, text: everyText }] : []),
    ...own.filter(({ id }) => !offered.some(one => one.id === id)),
    ...offered,
  ]
  return (
    <Select
      {...field}
      aria-label={field.label ?? `By ${noun}`}
      searchable
      allowDeselect={false}
      value={value ?? (isFilter ? every : null)}
      data={all.map(({ id, text }) => ({ value: id, label: text }))}
      // The service has searched.
      filter={({ options }) => options}
      onSearchChange={setTyped}
      onDropdownOpen={() => setOpened(true)}
      onChange={id => onChange(id === every ? null : id)}
      nothingFoundMessage={found.isPending ? 'Searching' : `No ${noun} found`}
    />
  )
}
