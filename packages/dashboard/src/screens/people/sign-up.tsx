import { Anchor } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { DoorFrame } from '../../components/door-frame.tsx'
import { signUpMode } from '../../service-facts.ts'
import { SignUpForm } from './sign-up-form.tsx'

const leads = {
  first:
    'This installation has no account yet. You become the owner of the workspace that the next step makes.',
  open: 'The next step makes a workspace for your company. To join one, open the link in its invitation.',
  invited: 'For the e-mail address that was invited. Open the link in the invitation afterwards.',
  closed: 'This installation takes no new accounts. Ask the people who run it.',
}

/** The first visit: an account, then its workspace. */
export function SignUp() {
  const navigate = useNavigate()
  return (
    <DoorFrame
      title={signUpMode === 'first' ? 'Create the first account' : 'Create your account'}
      lead={leads[signUpMode]}
      aside={
        <Anchor renderRoot={props => <Link to="/sign-in" {...props} />}>You have an account? Sign in</Anchor>
      }
    >
      {signUpMode === 'closed' ? null : (
        <SignUpForm action="Create account" onSignedIn={() => navigate({ to: '/', replace: true })} />
      )}
    </DoorFrame>
  )
}
