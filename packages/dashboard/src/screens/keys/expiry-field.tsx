import { Input, NativeSelect, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import { exactTime } from '../../components/time.ts'
import classes from './limits-choice.module.css'

interface ExpiryFieldProps {
  /** An exact time; null never expires; an empty text is a date that is not typed yet. */
  readonly value: string | null
  readonly onChange: (at: string | null) => void
  readonly error?: ReactNode
}

const dayMs = 86_400_000
const presets = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const

/** `2027-01-31T10:30`, in the time of the browser, as its date field wants it. */
function localText(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** When a key ends: a preset or a date, always shown as an exact time. */
export function ExpiryField({ value, onChange, error }: ExpiryFieldProps) {
  const id = useId()
  const [choice, setChoice] = useState(value === null ? 'never' : 'date')
  const choose = (next: string) => {
    setChoice(next)
    if (next === 'never') return onChange(null)
    if (next === 'date') return onChange(value ?? '')
    onChange(new Date(Date.now() + Number(next) * dayMs).toISOString())
  }
  const type = (text: string) => {
    const at = new Date(text)
    onChange(Number.isNaN(at.getTime()) ? '' : at.toISOString())
  }
  return (
    <Input.Wrapper label="Expires" id={id} error={error}>
      <Stack gap="xs">
        <NativeSelect
          id={id}
          value={choice}
          onChange={event => choose(event.currentTarget.value)}
          data={[
            { value: 'never', label: 'Never' },
            ...presets.map(([value, label]) => ({ value, label })),
            { value: 'date', label: 'On a date' },
          ]}
        />
        {choice === 'date' ? (
          <TextInput
            type="datetime-local"
            aria-label="Date and time of the end"
            defaultValue={value === null || value === '' ? '' : localText(value)}
            onChange={event => type(event.currentTarget.value)}
          />
        ) : null}
        <p className={classes.words}>{sayEnd(value)}</p>
      </Stack>
    </Input.Wrapper>
  )
}

function sayEnd(value: string | null): string {
  if (value === null) return 'The key works until someone revokes it.'
  return value === '' ? 'Choose a date.' : `The key ends on ${exactTime(value)}.`
}
