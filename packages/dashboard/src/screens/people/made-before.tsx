import type { Verified } from '@keyrail/contract/people'
import { Anchor, Button, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { browserOf } from '../../components/browser-names.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { MadeEnded } from './made-ended.tsx'
import { NewPassword } from './new-password.tsx'

type Made = NonNullable<Verified['made']>

interface MadeBeforeProps {
  readonly made: Made
  /** With it, a new password ends all that the account made. */
  readonly token: string
}

type Step = 'look' | 'password' | 'ended' | 'expired'

/** After the verification: what the account has made, which may have been somebody else. */
export function MadeBefore({ made, token }: MadeBeforeProps) {
  const [step, setStep] = useState<Step>('look')
  if (step === 'ended') return <MadeEnded />
  if (step === 'expired') {
    return (
      <DoorFrame
        title="It is too late to do that here"
        lead="The page works for 24 hours, once. Choose a new password, and look at your workspaces and secret keys."
      >
        <Anchor renderRoot={props => <Link to="/reset-password" {...props} />}>Choose a new password</Anchor>
      </DoorFrame>
    )
  }
  if (step === 'password') {
    return (
      <DoorFrame
        title="Take the account over"
        lead="With a new password, all sessions, secret keys and invitations of the account end, and its name is removed. Then you decide about its workspaces."
      >
        <NewPassword
          token={token}
          action="End everything"
          onChanged={() => setStep('ended')}
          onExpired={() => setStep('expired')}
        />
      </DoorFrame>
    )
  }
  return (
    <DoorFrame title="Your e-mail address is verified" lead={leadOf(made)}>
      <Stack gap="md">
        <MadeList made={made} />
        <Button fullWidth renderRoot={props => <Link to="/" {...props} />}>
          Go to the dashboard
        </Button>
        <Button variant="default" fullWidth onClick={() => setStep('password')}>
          This was not me
        </Button>
      </Stack>
    </DoorFrame>
  )
}

const leadOf = ({ workspaces, sign_ins }: Made): string =>
  workspaces.length + sign_ins.length === 0
    ? 'If you signed up yourself, you do not need to do anything else.'
    : 'If this was you, you do not need to do anything else:'

function MadeList({ made: { workspaces, sign_ins } }: { made: Made }) {
  if (workspaces.length + sign_ins.length === 0) return null
  return (
    <ul aria-label="What the account has made">
      {workspaces.map(({ id, slug, secret_keys, created_at }) => (
        <li key={id}>
          Workspace {slug}, with {secret_keys} secret {secret_keys === 1 ? 'key' : 'keys'}:{' '}
          <RelativeTime at={created_at} />
        </li>
      ))}
      {sign_ins.map(({ ip, user_agent, created_at }) => (
        <li key={created_at}>
          Sign-in from {ip ?? 'an unknown address'}, {browserOf(user_agent)}: <RelativeTime at={created_at} />
        </li>
      ))}
    </ul>
  )
}
