import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { SearchIcon } from '../icons.tsx'
import classes from './search-field.module.css'

interface SearchFieldProps {
  readonly label: string
  /** What is searched for now. */
  readonly value: string
  readonly onSearch: (text: string) => void
}

const pauseMs = 250
/** What the service accepts. */
const lengthMax = 64

/** Searches a list while a person types. The field holds the typed text; the address holds the search. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const [typed, setTyped] = useState(value)
  const [searched, setSearched] = useState(value)
  const [sent, setSent] = useState(value)
  const search = useDebouncedCallback((text: string) => {
    setSent(text)
    onSearch(text)
  }, pauseMs)
  // The address changed by other means, such as "Clear filters". A text that was typed since the search stays.
  if (searched !== value) {
    setSearched(value)
    if (value !== sent) {
      setSent(value)
      setTyped(value)
    }
  }
  return (
    <TextInput
      type="search"
      className={classes.field}
      aria-label={label}
      placeholder={label}
      leftSection={<SearchIcon size={16} />}
      maxLength={lengthMax}
      spellCheck={false}
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value)
        search(event.currentTarget.value.trim())
      }}
    />
  )
}
