import { Select } from '@mantine/core'
import { useCallback } from 'react'
import { hygienes, type KeyFilters, statuses } from './key-filters.ts'
import { KeySearch } from './key-search.tsx'
import classes from './keys.module.css'
import { NamedChoice } from './named-choice.tsx'

/** Stands for no filter by status. */
const notRevoked = 'not-revoked'

interface FiltersProps {
  readonly filters: KeyFilters
  readonly filter: (next: KeyFilters) => void
}

/** What the list of keys shows: each choice stands in the address. */
export function Filters({ filters: { q, status, hygiene, project, tenant }, filter }: FiltersProps) {
  const search = useCallback(
    (text: string) =>
      filter({ q: text === '' ? undefined : text, ...(text !== '' && { hygiene: undefined }) }),
    [filter],
  )
  return (
    <div className={classes.filters}>
      <KeySearch q={q ?? ''} onSearch={search} />
      <Select
        aria-label="By status"
        // All of them fit, so that nothing scrolls.
        maxDropdownHeight={440}
        allowDeselect={false}
        data={[
          { value: notRevoked, label: 'Not revoked' },
          ...Object.entries(statuses).map(([value, label]) => ({ value, label })),
          {
            group: 'To look after',
            items: Object.entries(hygienes)
              .filter(([value]) => value !== 'too_old' || project !== undefined)
              .map(([value, label]) => ({ value, label })),
          },
        ]}
        value={hygiene ?? status ?? notRevoked}
        onChange={value => filter(choiceOf(value ?? notRevoked))}
      />
      <NamedChoice
        noun="project"
        isFilter
        value={project ?? null}
        onChange={id =>
          filter({ project: id ?? undefined, ...(hygiene === 'too_old' && { hygiene: undefined }) })
        }
      />
      <NamedChoice
        noun="tenant"
        isFilter
        className={classes.wide}
        value={tenant ?? null}
        onChange={id => filter({ tenant: id ?? undefined })}
      />
    </div>
  )
}

/** A status or what keys should be looked after for, of which a list has one. */
const choiceOf = (value: string): KeyFilters =>
  Object.hasOwn(hygienes, value)
    ? { hygiene: value as KeyFilters['hygiene'], status: undefined, q: undefined }
    : {
        status: value === notRevoked ? undefined : (value as KeyFilters['status']),
        hygiene: undefined,
      }
