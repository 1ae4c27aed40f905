import type { User, Verified } from '@keyrail/contract/people'
import { Button, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { requestVerification, verifyAddress } from '../../api/people.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { mailFolderNote } from '../../components/mail-folder.ts'
import { Trouble } from '../../components/trouble.tsx'
import { useSending } from '../../components/use-sending.ts'
import { linkToken } from '../../link-token.ts'
import { isDead } from './link-faults.ts'
import { MadeBefore } from './made-before.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { useSignedIn } from './use-signed-in.ts'

type Step = 'ask' | 'expired' | 'incomplete' | 'known' | { sentTo: string } | { verified: Verified }

const goOn = (
  <Button fullWidth renderRoot={props => <Link to="/" {...props} />}>
    Go to the dashboard
  </Button>
)

/** A mailed link leads here. It verifies only after a click, because mail scanners open links too. */
export function VerifyEmail() {
  const [step, setStep] = useState<Step>(linkToken === null ? 'incomplete' : 'ask')
  if (typeof step === 'object' && 'verified' in step) return <Done {...step.verified} />
  if (typeof step === 'object') {
    return (
      <DoorFrame
        title="A new link is on its way"
        lead={`Check the mailbox of ${step.sentTo}. The link works for 24 hours.`}
      >
        {mailFolderNote === null ? null : <p>{mailFolderNote}</p>}
      </DoorFrame>
    )
  }
  if (step === 'ask') {
    return (
      <DoorFrame
        title="Verify your e-mail address"
        lead="Click the button to confirm that this address is yours."
      >
        <Verify onVerified={verified => setStep({ verified })} onExpired={() => setStep('expired')} />
      </DoorFrame>
    )
  }
  if (step === 'known') {
    return (
      <DoorFrame title="Your e-mail address is already verified" lead="You do not need to do anything else.">
        {goOn}
      </DoorFrame>
    )
  }
  return (
    <DoorFrame
      title={step === 'expired' ? 'This link has been used or has expired' : 'This link is incomplete'}
      lead={
        step === 'expired'
          ? 'If you have already verified your address, you do not need to do anything. A link works once, for 24 hours, and only the newest link works.'
          : 'Open the link in the e-mail again. If your mail program breaks it, copy the whole link into the address bar. Or sign in to get a new one.'
      }
    >
      <NewLink
        send={async ({ email, email_verified }) => {
          if (email_verified) return setStep('known')
          await requestVerification()
          setStep({ sentTo: email })
        }}
      />
    </DoorFrame>
  )
}

/** The billing address of a workspace and a proven account have nothing to look at. */
const Done = ({ made, disowning_token }: Verified) =>
  made === null || disowning_token === null ? (
    <DoorFrame title="Your e-mail address is verified" lead="You do not need to do anything else.">
      {goOn}
    </DoorFrame>
  ) : (
    <MadeBefore made={made} token={disowning_token} />
  )

type Addressee = Pick<User, 'email' | 'email_verified'>

/** To the person who is signed in here, or to one who signs in. The link may be of another one. */
function NewLink({ send }: { readonly send: (person: Addressee) => Promise<void> }) {
  const [me, forgetMe] = useSignedIn()
  const [{ isBusy, trouble }, run] = useSending()
  if (me === null) return <SignInForm action="Send a new link" onSignedIn={({ user }) => send(user)} />
  return (
    <Stack gap="md">
      <p>You are signed in as {me.email}.</p>
      {trouble === null ? null : <Trouble error={trouble} />}
      <Button fullWidth loading={isBusy} onClick={() => void run(() => send(me))}>
        Send a new link
      </Button>
      <Button variant="default" fullWidth onClick={forgetMe}>
        Use another account
      </Button>
    </Stack>
  )
}

interface VerifyProps {
  readonly onVerified: (verified: Verified) => void
  readonly onExpired: () => void
}

function Verify({ onVerified, onExpired }: VerifyProps) {
  const [{ isBusy, trouble }, run] = useSending(error => {
    if (!isDead(error)) return error
    onExpired()
    return null
  })
  const verify = async () => {
    onVerified(await verifyAddress({ body: { token: linkToken ?? '' } }))
  }
  return (
    <Stack gap="md">
      {trouble === null ? null : <Trouble error={trouble} />}
      <Button loading={isBusy} onClick={() => void run(verify)} fullWidth>
        Verify e-mail address
      </Button>
    </Stack>
  )
}
