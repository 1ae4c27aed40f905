import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { listProjects } from '../../api/projects.ts'
import { listTenants } from '../../api/tenants.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { searchLengthMax } from './key-filters.ts'

interface NamedChoiceProps {
  readonly noun: 'project' | 'tenant'
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

/** The first of these by a text, with the chosen one, whatever the text. */
async function find(noun: 'project' | 'tenant', q: string, signal: AbortSignal): Promise<Named[]> {
  const query = { q: q === '' ? undefined : q, limit: 20 }
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

/** Stands for no choice in a filter. */
const every = 'every'

/** Chooses a project or a tenant by its name, as the service finds it. */
export function NamedChoice({ noun, value, onChange, isFilter = false, ...field }: NamedChoiceProps) {
  const [typed, setTyped] = useState('')
  // An id is a search too.
  const chosen = useQuery({
    queryKey: [`${noun}s`, 'choice', shownWorkspaceId(), value],
    queryFn: ({ signal }) => find(noun, value ?? '', signal),
    enabled: value !== null,
  })
  const everyText = `Every ${noun}`
  const own = value === null ? [] : (chosen.data ?? [{ id: value, text: value }])
  // The field shows the name of what is chosen, which is no search.
  const isSearch = typed !== everyText && own.every(({ text }) => text !== typed)
  const [q] = useDebouncedValue(isSearch ? typed.trim().slice(0, searchLengthMax) : '', waitMs)
  const found = useQuery({
    queryKey: [`${noun}s`, 'choice', shownWorkspaceId(), q],
    queryFn: ({ signal }) => find(noun, q, signal),
    placeholderData: keepPreviousData,
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
      onChange={id => onChange(id === every ? null : id)}
      nothingFoundMessage={found.isPending ? 'Searching' : `No ${noun} found`}
    />
  )
}
