import { Input, NativeSelect, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import { counted } from '../../components/figures.ts'
import { exactTime } from '../../components/time.ts'
import classes from './limits-choice.module.css'

export interface AgeRule {
  /** A key lives at most this many days. */
  readonly days: number
  /** When the key was made; null: it is made now. */
  readonly from: string | null
  /** Whether nodes refuse it then. */
  readonly isRefused: boolean
}

interface ExpiryFieldProps {
  /** An exact time; null never expires; an empty text is a date that is not typed yet. */
  readonly value: string | null
  readonly onChange: (at: string | null) => void
  readonly error?: ReactNode
  /** What the project says of the age of its keys; null: nothing. */
  readonly age?: AgeRule | null
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
export function ExpiryField({ value, onChange, error, age = null }: ExpiryFieldProps) {
  const id = useId()
  const [before] = useState(value)
  const [chosen, setChoice] = useState(value === null ? 'never' : 'date')
  const choices = choicesOf(age, before)
  // With another project a choice may be none.
  const choice = choices.some(one => one.value === chosen) ? chosen : 'date'
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
          data={choices}
        />
        {choice === 'date' ? (
          <TextInput
            type="datetime-local"
            aria-label="Date and time of the end"
            defaultValue={value === null || value === '' ? '' : localText(value)}
            onChange={event => type(event.currentTarget.value)}
          />
        ) : null}
        <p className={classes.words}>{sayEnd(value, age)}</p>
      </Stack>
    </Input.Wrapper>
  )
}

/** What the service accepts. A key that is there may keep a later end, or none, from before the rule. */
function choicesOf(age: AgeRule | null, before: string | null) {
  const isNew = age?.from === null
  const last =
    age === null || (before === null && !isNew)
      ? Number.POSITIVE_INFINITY
      : (isNew ? Date.now() : Date.parse(age.from ?? '')) + age.days * dayMs
  const never = isNew ? `In ${counted(age.days, 'day')}, the longest` : 'Never'
  return [
    ...(isNew || last === Number.POSITIVE_INFINITY ? [{ value: 'never', label: never }] : []),
    ...presets
      .filter(([days]) => Date.now() + Number(days) * dayMs < last)
      .map(([value, label]) => ({ value, label })),
    { value: 'date', label: 'On a date' },
  ]
}

function sayEnd(value: string | null, age: AgeRule | null): string {
  if (value === null) return age === null ? 'The key works until someone revokes it.' : sayAge(age)
  return value === '' ? 'Choose a date.' : `The key ends on ${exactTime(value)}.`
}

function sayAge({ days, from, isRefused }: AgeRule): string {
  if (from === null) return `The key ends ${counted(days, 'day')} after it is made, as its project says.`
  const end = exactTime(new Date(Date.parse(from) + days * dayMs).toISOString())
  return isRefused
    ? `The key is refused from ${end} on, when it is too old for its project.`
    : `The key works until someone revokes it. From ${end} on its project lists it as too old.`
}
