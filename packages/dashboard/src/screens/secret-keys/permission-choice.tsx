import type { Permission } from '@keyrail/contract/vendor/permissions'
import { Checkbox, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { permissionWords } from './permission-words.ts'

interface PermissionChoiceProps {
  readonly value?: readonly Permission[]
  readonly onChange?: (chosen: Permission[]) => void
  readonly error?: ReactNode
}

/** A box for each permission, with what it allows. */
export const PermissionChoice = ({ value = [], onChange, error }: PermissionChoiceProps) => (
  <Checkbox.Group
    label="Permissions"
    description="None includes another: a key that changes keys and lists them needs both."
    value={[...value]}
    onChange={chosen => onChange?.(chosen as Permission[])}
    error={error}
  >
    <Stack gap="xs" mt="xs">
      {Object.entries(permissionWords).map(([permission, words]) => (
        <Checkbox key={permission} value={permission} label={permission} description={words} />
      ))}
    </Stack>
  </Checkbox.Group>
)
