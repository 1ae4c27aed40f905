import { Anchor } from '@mantine/core'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { DoorFrame } from '../../components/door-frame.tsx'
import { signUpMode } from '../../service-facts.ts'
import { SignInForm } from './sign-in-form.tsx'

const toSignUp =
  signUpMode === 'invited' ? 'Invited, without an account? Create one' : 'No account yet? Create one'

const route = getRouteApi('/sign-in')

export function SignIn() {
  const search = route.useSearch()
  const router = useRouter()
  return (
    <DoorFrame
      title="Sign in"
      lead="The control plane for your API keys."
      aside={
        <>
          <Anchor renderRoot={props => <Link to="/reset-password" {...props} />}>
            Forgot your password?
          </Anchor>
          {signUpMode === 'closed' ? null : (
            <Anchor renderRoot={props => <Link to="/sign-up" search={search} {...props} />}>
              {toSignUp}
            </Anchor>
          )}
        </>
      }
    >
      <SignInForm onSignedIn={() => router.navigate({ to: search.to ?? '/', replace: true })} />
    </DoorFrame>
  )
}
