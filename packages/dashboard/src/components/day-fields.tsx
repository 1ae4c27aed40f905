import { TextInput } from '@mantine/core'
import type { Days } from './days.ts'

/** Two fields for the days of a list: its first and its last. */
export const DayFields = ({ days, onChange }: { days: Days; onChange: (change: Days) => void }) => {
  const field = (label: string, name: keyof Days) => (
    <TextInput
      type="date"
      label={label}
      value={days[name] ?? ''}
      onChange={event => onChange({ [name]: event.currentTarget.value || undefined })}
    />
  )
  return (
    <>
      {field('From', 'from')}
      {field('To', 'to')}
    </>
  )
}
