import { TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { SearchIcon } from '../../icons.tsx'
import classes from './keys.module.css'
import { partOfKey, useWholeKey } from './use-whole-key.ts'
import { mayBeSecret, wholeKeyIn } from './whole-key.ts'

interface KeySearchProps {
  readonly q: string
  readonly onSearch: (q: string) => void
}

const waitMs = 300
/**
 * Finds keys by name, shown prefix or id, and a key by itself. A key goes to the service in a body, and leaves the page at once:
 * it never gets into an address.
 */
export function KeySearch({ q, onSearch }: KeySearchProps) {
  const whole = useWholeKey()
  const [typed, setTyped] = useState(q)
  useEffect(() => setTyped(q), [q])
  useEffect(() => {
    const text = typed.trim()
    if (text === q || mayBeSecret(text)) return
    const timer = setTimeout(() => onSearch(text), waitMs)
    return () => clearTimeout(timer)
  }, [typed, q, onSearch])

  const change = (text: string) => {
    const key = wholeKeyIn(text)
    if (key !== null) {
      setTyped('')
      return void whole.open(key)
    }
    setTyped(text)
    whole.setFault(null)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (mayBeSecret(typed)) whole.setFault(partOfKey)
    else onSearch(typed.trim())
  }
  return (
    <form onSubmit={submit} className={classes.search}>
      <search>
        <TextInput
          aria-label="Find keys"
          placeholder="Name, prefix or id; or paste a whole key"
          leftSection={<SearchIcon size={16} />}
          value={typed}
          maxLength={512}
          error={whole.fault}
          autoComplete="off"
          spellCheck={false}
          onChange={event => change(event.currentTarget.value)}
        />
      </search>
    </form>
  )
}
