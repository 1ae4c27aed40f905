import { PasswordInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { changePassword } from '../../api/people.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { faultOfNewPassword, passwordHint } from '../people/field-rules.ts'

export function ChangePassword() {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { current_password: '', password: '' },
    validate: {
      current_password: text => (text === '' ? 'Enter your current password.' : null),
      password: faultOfNewPassword,
    },
  })
  const submission = useFormAction(
    form,
    async body => {
      await changePassword({ body })
      form.reset()
      await client.invalidateQueries({ queryKey: ['sessions'] })
      notifications.show({ message: 'Your password is changed. Every other session has ended.' })
    },
    error => (error.code === 'invalid_credentials' ? { current_password: 'This is not your password.' } : {}),
  )
  return (
    <PageForm {...submission} submit="Change password" isPrimary={false}>
      <PasswordInput
        label="Current password"
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show current password' }}
        key={form.key('current_password')}
        {...form.getInputProps('current_password')}
      />
      <PasswordInput
        label="New password"
        description={passwordHint}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show new password' }}
        key={form.key('password')}
        {...form.getInputProps('password')}
      />
    </PageForm>
  )
}
