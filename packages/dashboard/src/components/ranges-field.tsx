import { Stack, TagsInput, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { placeOf } from './ranges.ts'
import classes from './ranges-field.module.css'

interface RangesFieldProps {
  readonly label: string
  readonly description: string
  readonly value: readonly string[]
  readonly onChange: (next: string[]) => void
  readonly error?: ReactNode
  readonly 'data-path'?: string
}

/** Ranges of addresses, and an address to try against them before they are saved. */
export function RangesField({ value, onChange, ...field }: RangesFieldProps) {
  return (
    <Stack gap="xs" w="100%">
      <TagsInput
        {...field}
        placeholder={value.length === 0 ? '203.0.113.0/24' : ''}
        splitChars={[',', ' ', ';']}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        value={[...value]}
        onChange={next => onChange(next.flatMap(rangesOf))}
      />
      {value.length === 0 ? null : <TryAddress ranges={value} />}
    </Stack>
  )
}

/** A list that is pasted and entered at once has several. */
const rangesOf = (text: string): string[] => text.split(/[\s,;]+/).filter(one => one !== '')

function TryAddress({ ranges }: { readonly ranges: readonly string[] }) {
  const [address, setAddress] = useState('')
  return (
    <div className={classes.tried}>
      <TextInput
        label="Try an address"
        placeholder="203.0.113.7"
        maxLength={64}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        value={address}
        onChange={event => setAddress(event.currentTarget.value)}
      />
      <p className={classes.answer} role="status">
        {sayPlace(address.trim(), ranges)}
      </p>
    </div>
  )
}

function sayPlace(address: string, ranges: readonly string[]): string {
  if (address === '') return ''
  const place = placeOf(address, ranges)
  if (place === 'unread') return 'This is not an IPv4 or IPv6 address.'
  return place === 'outside' ? 'Refused: it is in none of the ranges.' : `Allowed by ${place.in}.`
}
