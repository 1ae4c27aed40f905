import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { DoorFrame } from '../../components/door-frame.tsx'

/** After a reset of an account that no person had shown to be theirs. */
export const MadeEnded = () => (
  <DoorFrame
    title="The account is yours now"
    lead="No person had shown that the account belongs to this address, so everything that it made has ended: sessions, secret keys and invitations. Sign in with the new password to decide about its workspaces."
  >
    <Button fullWidth renderRoot={props => <Link to="/sign-in" {...props} />}>
      Sign in
    </Button>
  </DoorFrame>
)
