import { Autocomplete, Button, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useActors } from './use-actors.ts'

interface IdFilterProps {
  readonly value: string
  readonly onChange: (id: string | undefined) => void
}

const actorId = /^[A-Za-z0-9._:-]{1,128}$/
const targetId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Who did it: a person or a secret key by name, every other actor by id. */
export function ActorFilter({ value, onChange }: IdFilterProps) {
  const { choices, label } = useActors(value)
  const idOf = (text: string) =>
    choices.find(({ label }) => label.toLowerCase() === text.toLowerCase())?.value ??
    (actorId.test(text) ? text : null)
  const field = useIdField({ value, onChange, idOf })
  return (
    <form onSubmit={field.submit} noValidate>
      <Autocomplete
        label="Actor"
        placeholder="Anyone"
        data={choices}
        limit={50}
        value={field.typed ?? label}
        onChange={field.type}
        onOptionSubmit={onChange}
        onBlur={field.apply}
        error={field.isFaulty ? 'Choose a person or a secret key, or enter a whole id.' : null}
        {...shared('Actor', value, onChange)}
      />
    </form>
  )
}

/** What was changed, by its id. */
export function TargetFilter({ value, onChange }: IdFilterProps) {
  const field = useIdField({ value, onChange, idOf: text => (targetId.test(text) ? text : null) })
  return (
    <form onSubmit={field.submit} noValidate>
      <TextInput
        label="Target id"
        placeholder="Any"
        value={field.typed ?? value}
        onChange={event => field.type(event.currentTarget.value)}
        onBlur={field.apply}
        error={field.isFaulty ? 'This is not a whole id.' : null}
        {...shared('Target id', value, onChange)}
      />
    </form>
  )
}

interface IdFieldProps extends IdFilterProps {
  /** Null: the text names nothing. */
  readonly idOf: (text: string) => string | null
}

/** A text counts when it is whole: after Enter, or when the person leaves the field. */
function useIdField({ value, onChange, idOf }: IdFieldProps) {
  const [typed, type] = useState<string | null>(null)
  const [isFaulty, setFaulty] = useState(false)
  const apply = () => {
    if (typed === null) return
    const text = typed.trim()
    const id = text === '' ? '' : idOf(text)
    setFaulty(id === null)
    if (id !== null && id !== value) onChange(id === '' ? undefined : id)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply()
  }
  return { typed, type, isFaulty, apply, submit }
}

const shared = (label: string, value: string, onChange: IdFilterProps['onChange']) => ({
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
  rightSectionWidth: 64,
  rightSection:
    value === '' ? null : (
      <Button
        variant="subtle"
        size="compact-xs"
        aria-label={`Clear ${label}`}
        onClick={() => onChange(undefined)}
      >
        Clear
      </Button>
    ),
})
