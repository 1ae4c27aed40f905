import { Anchor } from '@mantine/core'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
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

const route = getRouteApi('/sign-up')

/** The first visit: an account, then the page that was asked for, or a workspace. */
export function SignUp() {
  const search = route.useSearch()
  const router = useRouter()
  return (
    <DoorFrame
      title={signUpMode === 'first' ? 'Create the first account' : 'Create your account'}
      lead={leads[signUpMode]}
      aside={
        <Anchor renderRoot={props => <Link to="/sign-in" search={search} {...props} />}>
          You have an account? Sign in
        </Anchor>
      }
    >
      {signUpMode === 'closed' ? null : (
        <SignUpForm
          action="Create account"
          onSignedIn={() => router.navigate({ to: search.to ?? '/', replace: true })}
        />
      )}
    </DoorFrame>
  )
}
