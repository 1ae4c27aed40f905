import type { SignedIn } from '@keyrail/contract/people'
import { PasswordInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { signIn, signUp } from '../../api/people.ts'
import { DoorForm } from '../../components/form-frames.tsx'
import { faultOfOptionalName } from '../../components/name-rules.ts'
import { StorageNote } from '../../components/storage-note.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { keepDeviceToken } from '../../session/device.ts'
import { startSession } from '../../session/token.ts'
import { faultOfAddress, faultOfNewPassword, passwordHint } from './field-rules.ts'

interface SignUpFormProps {
  readonly action: string
  readonly onSignedIn: (signedIn: SignedIn) => Promise<void> | void
}

/** Makes an account and signs it in. The answer to the first call never says whether the address had one. */
export function SignUpForm({ action, onSignedIn }: SignUpFormProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: '', email: '', password: '' },
    validate: { name: faultOfOptionalName, email: faultOfAddress, password: faultOfNewPassword },
  })
  const submission = useFormAction(
    form,
    async values => {
      const [email, name] = [values.email.trim(), values.name.trim()]
      await signUp({ body: { email, password: values.password, ...(name !== '' && { name }) } })
      const signedIn = await signIn({ body: { email, password: values.password } })
      keepDeviceToken(signedIn.device_token)
      startSession({ token: signedIn.token, userId: signedIn.user.id }, { keep: false })
      await onSignedIn(signedIn)
    },
    error =>
      error.code === 'invalid_credentials'
        ? { email: 'This address already has an account with another password. Sign in with that.' }
        : {},
  )
  return (
    <DoorForm {...submission} submit={action}>
      <TextInput
        label="Name (optional)"
        autoComplete="name"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <TextInput
        label="E-mail address"
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        key={form.key('email')}
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        description={passwordHint}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
        key={form.key('password')}
        {...form.getInputProps('password')}
      />
      <StorageNote />
    </DoorForm>
  )
}
