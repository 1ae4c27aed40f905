import { Checkbox, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Trouble } from './trouble.tsx'
import { useSending } from './use-sending.ts'

interface DeleteProtectionProps {
  readonly noun: 'project' | 'tenant'
  readonly isProtected: boolean
  readonly onChange: (isProtected: boolean) => Promise<void>
  /** The button that deletes, which works without the protection alone. */
  readonly children: ReactNode
}

/** Keeps people and programs from a deletion, which ends all keys for good. */
export function DeleteProtection({ noun, isProtected, onChange, children }: DeleteProtectionProps) {
  const [{ isBusy, trouble }, send] = useSending()
  const [next, setNext] = useState(isProtected)
  return (
    <Stack gap="sm" align="flex-start">
      <Checkbox
        label="Protected from deletion"
        description={`Nobody can delete this ${noun}, here or by the API, until this is off.`}
        checked={isBusy ? next : isProtected}
        disabled={isBusy}
        onChange={event => {
          const { checked } = event.currentTarget
          setNext(checked)
          void send(() => onChange(checked))
        }}
      />
      {trouble === null ? null : <Trouble error={trouble} />}
      {children}
    </Stack>
  )
}
