import type { Role } from '@keyrail/contract/shared'
import { Button, SegmentedControl, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { acceptInvite, requestVerification, switchWorkspace } from '../../api/people.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { Trouble } from '../../components/trouble.tsx'
import { linkToken } from '../../link-token.ts'
import classes from './accept-invite.module.css'
import { InvitationInWords, roleInWords, useInvitation } from './invitation.tsx'
import { isDead } from './link-faults.ts'
import { SignInForm } from './sign-in-form.tsx'
import { SignUpForm } from './sign-up-form.tsx'
import { useSignedIn } from './use-signed-in.ts'

type Step =
  | 'who'
  | 'dead'
  | 'incomplete'
  | 'known'
  | { joined: { id: string; name: string }; role: Role }
  | { unverified: string }

/** A mailed invitation leads here, and says who invites whom. The person signs in or makes an account, then joins. */
export function AcceptInvite() {
  const [step, setStep] = useState<Step>(linkToken === null ? 'incomplete' : 'who')
  const [trouble, setTrouble] = useState<unknown>(null)
  const invitation = useInvitation()
  const accept = async (email: string) => {
    setTrouble(null)
    try {
      const { workspace, role } = await acceptInvite({ body: { token: linkToken ?? '' } })
      setStep({ joined: workspace, role })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'email_not_verified') setStep({ unverified: email })
      else if (error instanceof ApiError && error.code === 'already_member') setStep('known')
      else if (isDead(error)) setStep('dead')
      else throw error
    }
  }
  const tryTo = (action: () => Promise<void>) => () => action().catch(setTrouble)

  if (step === 'incomplete') {
    return (
      <DoorFrame
        title="This link is incomplete"
        lead="Open the link in the e-mail again. If your mail program breaks it, copy the whole link into the address bar."
      />
    )
  }
  if (step === 'dead' || (step === 'who' && isDead(invitation.error))) {
    return (
      <DoorFrame
        title="This invitation is no longer valid"
        lead="An invitation works once, for 7 days, unless it is revoked. Ask the person who invited you for a new one."
      />
    )
  }
  if (step === 'known') {
    return (
      <DoorFrame title="You are already a member" lead="You do not need to do anything else.">
        <Button fullWidth renderRoot={props => <Link to="/" {...props} />}>
          Go to the dashboard
        </Button>
      </DoorFrame>
    )
  }
  if (step === 'who') return <Who accept={accept} trouble={trouble} tryTo={tryTo} invitation={invitation} />
  if ('joined' in step) {
    const { id, name } = step.joined
    return (
      <DoorFrame title={`Welcome to ${name}`} lead={`You have joined as ${roleInWords[step.role]}.`}>
        <Stack gap="md">
          {trouble === null ? null : <Trouble error={trouble} />}
          <Button
            fullWidth
            onClick={tryTo(async () => {
              await switchWorkspace({ body: { workspace_id: id } })
              location.assign('/app/')
            })}
          >
            Go to {name}
          </Button>
        </Stack>
      </DoorFrame>
    )
  }
  return <Unverified email={step.unverified} accept={accept} trouble={trouble} tryTo={tryTo} />
}

interface StepProps {
  readonly accept: (email: string) => Promise<void>
  readonly trouble: unknown
  readonly tryTo: (action: () => Promise<void>) => () => void
}

function Who({
  accept,
  trouble,
  tryTo,
  invitation,
}: StepProps & { readonly invitation: ReturnType<typeof useInvitation> }) {
  const [way, setWay] = useState('sign-in')
  const [me, forgetMe] = useSignedIn()
  const { data, error, refetch } = invitation
  // Accepting says more where the service cannot be reached, so the forms stay.
  const lead = error === null ? <InvitationInWords invitation={data} /> : 'Who invites you could not be read.'
  const unread = error === null ? null : <Trouble error={error} onRetry={() => void refetch()} />
  if (me !== null && way === 'sign-in') {
    return (
      <DoorFrame title="Accept the invitation" lead={lead}>
        <Stack gap="md">
          {unread}
          <p>You are signed in as {me.email}.</p>
          {trouble === null ? null : <Trouble error={trouble} />}
          <Button fullWidth onClick={tryTo(() => accept(me.email))}>
            Accept as {me.email}
          </Button>
          <Button variant="default" fullWidth onClick={forgetMe}>
            Use another account
          </Button>
        </Stack>
      </DoorFrame>
    )
  }
  return (
    <DoorFrame title="Accept the invitation" lead={lead}>
      <Stack gap="md">
        {unread}
        <p>Do you have a Keyrail account?</p>
        <SegmentedControl
          fullWidth
          aria-label="Do you have an account?"
          value={way}
          onChange={setWay}
          data={[
            { value: 'sign-in', label: 'Yes, sign in' },
            { value: 'sign-up', label: 'No, create one' },
          ]}
        />
        {way === 'sign-in' ? (
          <SignInForm action="Sign in and accept" onSignedIn={({ user }) => accept(user.email)} />
        ) : (
          <SignUpForm action="Create an account and accept" onSignedIn={({ user }) => accept(user.email)} />
        )}
      </Stack>
    </DoorFrame>
  )
}

function Unverified({ email, accept, trouble, tryTo }: StepProps & { readonly email: string }) {
  const [notice, setNotice] = useState('')
  const again = async () => {
    setNotice('')
    await accept(email)
    setNotice('The address is not verified yet. Open the link in the e-mail first.')
  }
  const send = async () => {
    await requestVerification()
    setNotice('A link is on its way. Open it, then come back to this page.')
  }
  return (
    <DoorFrame
      title="Verify your address first"
      lead={`This link does not prove that ${email} is yours. Open the verification link that was mailed to you in another tab, then come back. Keep this page open.`}
    >
      <Stack gap="md">
        {trouble === null ? null : <Trouble error={trouble} />}
        <Button fullWidth onClick={tryTo(again)}>
          I have verified it, accept now
        </Button>
        <Button variant="default" fullWidth onClick={tryTo(send)}>
          Send me a verification link
        </Button>
        <p role="status" className={classes.notice}>
          {notice}
        </p>
      </Stack>
    </DoorFrame>
  )
}
