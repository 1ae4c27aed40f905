import { SegmentedControl, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { DialogForm } from './form-frames.tsx'
import { exactTime } from './time.ts'
import { useSending } from './use-sending.ts'

interface OverlapFormProps {
  /** When the old key ends without a rotation. */
  readonly expiresAt: string | null
  /** Resolves with the new key. The form shows why it failed otherwise. */
  readonly onRotate: (overlapHours: number) => Promise<void>
  readonly onClose: () => void
}

const presets = [
  ['0', 'Now'],
  ['1', '1 hour'],
  ['24', '24 hours'],
  ['168', '7 days'],
] as const
const hoursMax = 168
const hourMs = 3_600_000

/** Asks how long a key and its successor both work. */
export function OverlapForm({ expiresAt, onRotate, onClose }: OverlapFormProps) {
  const [hours, setHours] = useState('24')
  const [sending, send] = useSending()
  const overlap = Number(hours)
  const isAllowed = hours.trim() !== '' && overlap >= 0 && overlap <= hoursMax
  const rotate = (event: FormEvent) => {
    event.preventDefault()
    if (isAllowed) void send(() => onRotate(overlap))
  }
  return (
    <DialogForm
      {...sending}
      onSubmit={rotate}
      submit="Issue the new key"
      isReady={isAllowed}
      onCancel={onClose}
    >
      <p>A new key with the same settings replaces this one. Choose how long both of them work.</p>
      <SegmentedControl
        aria-label="The old key ends"
        value={hours}
        onChange={setHours}
        data={presets.map(([value, label]) => ({ value, label }))}
      />
      <TextInput
        label="Overlap in hours"
        description="0 to 168"
        inputMode="decimal"
        value={hours}
        onChange={event => setHours(event.currentTarget.value)}
        error={isAllowed ? null : 'An overlap is 0 to 168 hours.'}
      />
      {isAllowed ? <p aria-live="polite">{sayEnd(overlap, expiresAt)}</p> : null}
    </DialogForm>
  )
}

/** The rule of the service: an overlap never extends a life. */
function sayEnd(hours: number, expiresAt: string | null): string {
  const end = Date.now() + hours * hourMs
  if (expiresAt !== null && Date.parse(expiresAt) <= end)
    return `The old key ends on ${exactTime(expiresAt)}, as it would have: an overlap never makes a key live longer.`
  if (hours === 0) return 'The old key ends at once.'
  return `The old key ends on ${exactTime(new Date(end).toISOString())}.`
}
