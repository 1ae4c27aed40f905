import type { SignedIn } from '@keyrail/contract/people'
import { Checkbox, PasswordInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { ApiError } from '../../api/api-error.ts'
import { signIn } from '../../api/people.ts'
import { DoorForm } from '../../components/form-frames.tsx'
import { StorageNote } from '../../components/storage-note.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { deviceToken, keepDeviceToken } from '../../session/device.ts'
import { isStorageDenied } from '../../session/storage.ts'
import { startSession } from '../../session/token.ts'
import { faultOfAddress } from './field-rules.ts'

interface SignInFormProps {
  readonly email?: string
  /** The workspace in which the session is to act, if the person is a member of it. */
  readonly workspaceId?: string | null
  readonly action?: string
  readonly onSignedIn?: (signedIn: SignedIn) => Promise<void> | void
}

export function SignInForm({
  email = '',
  workspaceId = null,
  action = 'Sign in',
  onSignedIn,
}: SignInFormProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email, password: '', keep: false },
    validate: {
      email: faultOfAddress,
      password: text => (text === '' ? 'Enter your password.' : null),
    },
  })
  const submission = useFormAction(
    form,
    async ({ email, password, keep }) => {
      const signedIn = await openSession(email.trim(), password, workspaceId)
      keepDeviceToken(signedIn.device_token)
      startSession({ token: signedIn.token, userId: signedIn.user.id }, { keep })
      await onSignedIn?.(signedIn)
    },
    error =>
      error.code === 'invalid_credentials' ? { password: 'E-mail address or password is wrong.' } : {},
  )
  return (
    <DoorForm {...submission} submit={action}>
      <TextInput
        label="E-mail address"
        type="text"
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        key={form.key('email')}
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
        data-autofocus={email === '' ? undefined : true}
        key={form.key('password')}
        {...form.getInputProps('password')}
      />
      <StorageNote />
      <Checkbox
        disabled={isStorageDenied}
        label="Keep me signed in on this device"
        key={form.key('keep')}
        {...form.getInputProps('keep', { type: 'checkbox' })}
      />
    </DoorForm>
  )
}

/** Another person may sign in where the last one worked: without the workspace then. */
async function openSession(email: string, password: string, workspaceId: string | null): Promise<SignedIn> {
  const device = deviceToken()
  const body = { email, password, ...(device !== undefined && { device_token: device }) }
  if (workspaceId === null) return await signIn({ body })
  try {
    return await signIn({ body: { ...body, workspace_id: workspaceId } })
  } catch (error) {
    if (!(error instanceof ApiError) || !['forbidden', 'workspace_unproven'].includes(error.code)) throw error
    return await signIn({ body })
  }
}
