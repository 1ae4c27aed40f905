import { Anchor, Loader } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { callSamples } from '../../components/call-samples.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CheckIcon } from '../../icons.tsx'
import { useHasRole } from '../../session/me.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { doneSteps, type Step } from './facts.ts'
import { FirstServer } from './first-server.tsx'
import { ProjectForm, TenantForm } from './forms.tsx'
import classes from './get-started.module.css'
import { KeyButton, type MakingProps, SecretKeyButton } from './make-keys.tsx'
import { firstAddress } from './snippets.ts'

interface StepsProps extends MakingProps {
  /** The page has made a secret key for the server. */
  readonly hasSecret: boolean
  /** The framework of the first server. */
  readonly framework: string
  readonly onFramework: (name: string) => void
}

const order: Step[] = ['project', 'tenant', 'key', 'connected', 'verified']
const count = new Intl.NumberFormat('en')

export function Steps({ facts, onMade, ...choice }: StepsProps) {
  const done = doneSteps(facts)
  const next = order.find(step => !done.has(step))
  const { project, tenant, node, requests } = facts
  const step = (name: Step, title: string, result: ReactNode, work: ReactNode) => (
    <li className={classes.step} aria-current={name === next ? 'step' : undefined}>
      <span className={done.has(name) ? classes.ticked : classes.number}>
        {done.has(name) ? <CheckIcon size={14} /> : order.indexOf(name) + 1}
      </span>
      <div className={classes.body}>
        <h2 className={classes.title}>
          {title}
          {done.has(name) ? <span className={classes.done}>Done</span> : null}
        </h2>
        {done.has(name) ? result : name === next ? work : null}
      </div>
    </li>
  )
  return (
    <>
      <p role="status" className={next === undefined ? classes.finished : classes.status}>
        {next === undefined ? <CheckIcon size={16} /> : null}
        {next === undefined
          ? 'All five steps are done. Your first request is verified.'
          : `${done.size} of 5 steps done`}
      </p>
      <ol className={classes.steps}>
        {step(
          'project',
          'Create a project',
          project === null ? null : <Named name={project.name} id={project.id} />,
          <ForAdmins lead="A project is one API that you protect.">
            <ProjectForm />
          </ForAdmins>,
        )}
        {step(
          'tenant',
          'Create a tenant',
          tenant === null ? null : <Named name={tenant.name ?? tenant.external_id} id={tenant.id} />,
          <ForAdmins lead="A tenant is one of your customers.">
            <TenantForm />
          </ForAdmins>,
        )}
        {step(
          'key',
          'Create a key for the tenant',
          null,
          <ForAdmins lead="Your customer sends it with each request. You see it once.">
            <KeyButton facts={facts} onMade={onMade} />
          </ForAdmins>,
        )}
        {step(
          'connected',
          'Connect your API',
          node === null ? null : (
            <p className={classes.quiet}>
              {node.node} asked for the keys <RelativeTime at={node.seen_at} />.
            </p>
          ),
          <Connect facts={facts} onMade={onMade} {...choice} />,
        )}
        {step(
          'verified',
          'Verify the first request',
          <p className={classes.quiet}>
            {count.format(requests)} {requests === 1 ? 'request' : 'requests'} in 30 days.{' '}
            <Anchor underline="always" inherit renderRoot={props => <Link to="/" {...props} />}>
              Go to the overview
            </Anchor>
          </p>,
          <>
            <p className={classes.quiet}>
              Call your API as your customer does. Servers report their requests every 10 seconds.
            </p>
            <CodeBlock
              label="A request of your customer"
              samples={callSamples(firstAddress, 'the-key-of-your-customer')}
            />
            <Waiting>Waiting for the first request…</Waiting>
          </>,
        )}
      </ol>
    </>
  )
}

const Waiting = ({ children }: { readonly children: string }) => (
  <p className={classes.waiting}>
    <Loader size={14} aria-hidden />
    {children}
  </p>
)

const Named = ({ name, id }: { name: string; id: string }) => (
  <p className={classes.named}>
    <span>{name}</span>
    <CopyText text={id} label={`Copy the id of ${name}`} />
  </p>
)

function ForAdmins({ lead, children }: { lead: string; children: ReactNode }) {
  const isAdmin = useHasRole('admin')
  return (
    <>
      <p className={classes.quiet}>{lead}</p>
      {isAdmin ? children : <p className={classes.quiet}>An admin or an owner does this step.</p>}
    </>
  )
}

function Connect({ facts, onMade, hasSecret, ...choice }: StepsProps) {
  const env = useEnv()
  const values = {
    url: location.origin,
    projectId: facts.project?.id ?? '',
    env,
    secret: 'the-secret-key-of-your-server',
  }
  return (
    <>
      <ForAdmins lead="Your server needs a secret key of its own, and the package @keyrail/sdk. It then verifies each key in its memory.">
        {hasSecret ? (
          <p className={classes.quiet} role="status">
            The secret key of your server exists. Do these steps now; the page notices your server by itself.
          </p>
        ) : null}
        <SecretKeyButton isAnother={hasSecret} facts={facts} onMade={onMade} />
      </ForAdmins>
      <FirstServer values={values} {...choice} />
      <Waiting>Waiting for your API…</Waiting>
    </>
  )
}
