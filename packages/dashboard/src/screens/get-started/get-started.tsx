import { Anchor, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { callSamples } from '../../components/call-samples.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { useHasRole } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { factsQuery, isDone } from './facts.ts'
import { FirstServer } from './first-server.tsx'
import { firstAddress } from './snippets.ts'
import { Steps } from './steps.tsx'

/** A key that this page has just made. */
export interface Made {
  /** `key`: for a customer. `secret`: for the server of the company. */
  readonly kind: 'key' | 'secret'
  readonly text: string
}

/** From nothing to the first verified request. Each step is done when the service knows it. */
export function GetStarted() {
  const env = useEnv()
  const facts = useQuery(factsQuery(env))
  const isAdmin = useHasRole('admin')
  const [made, setMade] = useState<Made | null>(null)
  const [hasSecret, setHasSecret] = useState(false)
  const show = (next: Made) => {
    setMade(next)
    if (next.kind === 'secret') setHasSecret(true)
  }
  // The dialog with the secret and the page below it show the same server.
  const [framework, setFramework] = useState('Express')
  const projectId = facts.data?.project?.id ?? 'the-id-of-your-project'
  const values = { url: location.origin, projectId, env, secret: made?.text ?? '' }
  const isAllDone = facts.data !== undefined && isDone(facts.data)
  const isSecret = made?.kind === 'secret'
  return (
    <PageFrame
      title="Get started"
      lead={
        isAllDone
          ? 'Your API verifies the keys of your customers. These were the steps.'
          : isAdmin
            ? 'Five steps to the first verified request. They tick themselves.'
            : 'Five steps to the first verified request. An admin or an owner does them; you see how far they are.'
      }
    >
      <Loaded query={facts} skeleton={<Skeleton h={480} />}>
        {data => (
          <>
            <Steps
              facts={data}
              onMade={show}
              hasSecret={hasSecret}
              framework={framework}
              onFramework={setFramework}
            />
            {isDone(data) ? null : <WayOut />}
          </>
        )}
      </Loaded>
      <SecretDialog
        secret={made?.text ?? null}
        title={isSecret ? 'The secret key of your server' : 'The key of your customer'}
        noun={isSecret ? 'secret key' : 'key'}
        ifLost={
          isSecret
            ? 'Choose “Create another secret key”, and revoke this one under “Secret keys”.'
            : 'Rotate it on its page under “Keys”, with an overlap of 0 hours. That shows you a new key.'
        }
        onClose={() => setMade(null)}
      >
        {isSecret ? (
          <>
            <p>
              It can do what a server of this project needs. It creates and shows no keys. Save it in .env
              now; the page shows the other steps again.
            </p>
            <FirstServer values={values} framework={framework} onFramework={setFramework} />
          </>
        ) : (
          <>
            <p>Your customer sends it to your API, once that is connected.</p>
            <CodeBlock
              isWrapped
              label="A request of your customer"
              samples={callSamples(firstAddress, made?.text ?? '')}
            />
          </>
        )}
      </SecretDialog>
    </PageFrame>
  )
}

const WayOut = () => (
  <p>
    The{' '}
    <Anchor underline="always" inherit renderRoot={props => <Link to="/" {...props} />}>
      overview
    </Anchor>{' '}
    is ready whenever you are.
  </p>
)
