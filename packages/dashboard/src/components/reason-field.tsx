import { TextInput } from '@mantine/core'

interface ReasonFieldProps {
  readonly value: string
  readonly onChange: (reason: string) => void
}

/** Why something is stopped, for the audit log. */
export const ReasonField = ({ value, onChange }: ReasonFieldProps) => (
  <TextInput
    data-autofocus
    label="Reason (optional)"
    maxLength={500}
    autoComplete="off"
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
  />
)
