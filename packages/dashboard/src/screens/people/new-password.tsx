import type { PasswordChanged } from '@keyrail/contract/people'
import { PasswordInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { resetPassword } from '../../api/people.ts'
import { DoorForm } from '../../components/form-frames.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { faultOfNewPassword, passwordHint } from './field-rules.ts'
import { isDead } from './link-faults.ts'

interface NewPasswordProps {
  /** Of a mailed link, or of the page that one opened. */
  readonly token: string
  readonly action?: string
  readonly onChanged: (changed: PasswordChanged) => void
  readonly onExpired: () => void
}

/** Chooses a new password with a token instead of the current one. */
export function NewPassword({ token, action = 'Change password', onChanged, onExpired }: NewPasswordProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { password: '', repeat: '' },
    validate: {
      password: faultOfNewPassword,
      repeat: (text, { password }) => (text === password ? null : 'The passwords do not match.'),
    },
  })
  const submission = useFormAction(form, async ({ password }) => {
    try {
      onChanged(await resetPassword({ body: { token, password } }))
    } catch (error) {
      if (!isDead(error)) throw error
      onExpired()
    }
  })
  return (
    <DoorForm {...submission} submit={action}>
      <PasswordInput
        label="New password"
        description={passwordHint}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show new password' }}
        key={form.key('password')}
        {...form.getInputProps('password')}
      />
      <PasswordInput
        label="Repeat the new password"
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show repeated password' }}
        key={form.key('repeat')}
        {...form.getInputProps('repeat')}
      />
    </DoorForm>
  )
}
