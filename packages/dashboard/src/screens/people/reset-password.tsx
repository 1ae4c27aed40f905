import { Anchor, Button, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { requestReset } from '../../api/people.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { DoorForm } from '../../components/form-frames.tsx'
import { mailFolderNote } from '../../components/mail-folder.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { linkToken } from '../../link-token.ts'
import { faultOfAddress } from './field-rules.ts'
import { MadeEnded } from './made-ended.tsx'
import { NewPassword } from './new-password.tsx'

type Step = 'new' | 'changed' | 'ended' | 'forgot' | 'expired' | { sentTo: string }

const signInLink = <Anchor renderRoot={props => <Link to="/sign-in" {...props} />}>Go to the sign-in</Anchor>

/** A mailed link leads here with its token; without one, the page sends such a link. */
export function ResetPassword() {
  const [step, setStep] = useState<Step>(linkToken === null ? 'forgot' : 'new')
  if (typeof step === 'object') {
    return (
      <DoorFrame
        title="Check your e-mail"
        lead={`If ${step.sentTo} has an account, a link is on its way. It works for one hour.`}
        aside={signInLink}
      >
        {mailFolderNote === null ? null : <p>{mailFolderNote}</p>}
      </DoorFrame>
    )
  }
  if (step === 'new') {
    return (
      <DoorFrame title="Choose a new password" lead="A new password signs you out everywhere.">
        <NewPassword
          token={linkToken ?? ''}
          onChanged={({ made_ended }) => setStep(made_ended ? 'ended' : 'changed')}
          onExpired={() => setStep('expired')}
        />
      </DoorFrame>
    )
  }
  if (step === 'ended') return <MadeEnded />
  if (step === 'changed') {
    return (
      <DoorFrame
        title="Your password was changed"
        lead="All of your sessions have ended. Sign in with the new password."
      >
        <Button fullWidth renderRoot={props => <Link to="/sign-in" {...props} />}>
          Sign in
        </Button>
      </DoorFrame>
    )
  }
  return (
    <DoorFrame
      title={step === 'expired' ? 'This link has been used or has expired' : 'Forgot your password?'}
      lead={
        step === 'expired'
          ? 'Your password has not changed. A link works once, for one hour, and only the newest link works.'
          : 'Enter the address of your account to get a link for a new password. If a link in an e-mail led you here, it was incomplete.'
      }
      aside={signInLink}
    >
      <Forgot onSent={sentTo => setStep({ sentTo })} />
    </DoorFrame>
  )
}

function Forgot({ onSent }: { onSent: (address: string) => void }) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '' },
    validate: { email: faultOfAddress },
  })
  const submission = useFormAction(form, async values => {
    const email = values.email.trim()
    await requestReset({ body: { email } })
    onSent(email)
  })
  return (
    <DoorForm {...submission} submit="Send a new link">
      <TextInput
        label="E-mail address"
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        key={form.key('email')}
        {...form.getInputProps('email')}
      />
    </DoorForm>
  )
}
