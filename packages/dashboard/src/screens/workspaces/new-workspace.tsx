import { Anchor } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { createWorkspace } from '../../api/workspaces.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { DoorFrame } from '../../components/door-frame.tsx'
import { DoorForm } from '../../components/form-frames.tsx'
import { NameAndSlug } from '../../components/name-and-slug.tsx'
import { faultOfName } from '../../components/name-rules.ts'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { faultOfSlug } from '../../components/slug.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { meQuery, useSignOut } from '../../session/me.ts'
import { OpenWorkspace } from './open-workspace.tsx'

interface Made {
  readonly id: string
  readonly secret: string
  /** The person has seen the secret. */
  readonly isSeen: boolean
}

/** Makes a workspace, shows its first secret key once, and goes to its first steps. */
export function NewWorkspace() {
  const [made, setMade] = useState<Made | null>(null)
  // The secret is on the page alone, so nothing that may fail stands between it and the person.
  if (made?.isSeen) return <OpenWorkspace id={made.id} />
  return (
    <>
      <NameWorkspace onMade={(id, secret) => setMade({ id, secret, isSeen: false })} />
      <FirstSecret
        secret={made?.secret ?? null}
        onClose={() => setMade(made && { ...made, secret: '', isSeen: true })}
      />
    </>
  )
}

type OnMade = (id: string, secret: string) => void

function NameWorkspace({ onMade }: { onMade: OnMade }) {
  const { data: me } = useQuery(meQuery)
  const signOut = useSignOut()
  const isFirst = me?.workspaces.length === 0
  return (
    <DoorFrame
      title={isFirst ? 'Create your workspace' : 'Create a workspace'}
      lead="A workspace is your company in Keyrail: its people, projects, tenants and keys."
      aside={
        isFirst ? (
          <>
            <Anchor renderRoot={props => <Link to="/workspaces/adopt" {...props} />}>
              I have a secret key
            </Anchor>
            <span>Signed in as {me.email}</span>
            <Anchor component="button" type="button" ta="start" onClick={() => void signOut()}>
              Sign out
            </Anchor>
          </>
        ) : (
          <>
            <Anchor renderRoot={props => <Link to="/workspaces/adopt" {...props} />}>
              I have a secret key
            </Anchor>
            <Anchor href="/app/">Back to the dashboard</Anchor>
          </>
        )
      }
    >
      <WorkspaceForm onMade={onMade} />
    </DoorFrame>
  )
}

const FirstSecret = ({ secret, onClose }: { secret: string | null; onClose: () => void }) => (
  <SecretDialog
    secret={secret}
    title="Your first secret key"
    noun="secret key"
    ifLost="The workspace is ready. Rotate the key under “Secret keys”, with an overlap of 0 hours, when you need it."
    onClose={onClose}
  >
    <p>Your backend calls Keyrail with it. It works in the live environment, with all rights of an owner.</p>
    <CodeBlock
      isWrapped
      label="Try the secret key"
      samples={[{ name: 'curl', code: curlOf(secret ?? '') }]}
    />
  </SecretDialog>
)

const curlOf = (secret: string) =>
  `curl ${location.origin}/v1/workspace \\\n  -H 'Authorization: Bearer ${secret}'`

function WorkspaceForm({ onMade }: { onMade: OnMade }) {
  const form = useForm({
    mode: 'controlled',
    initialValues: { name: '', slug: '' },
    validate: { name: faultOfName, slug: faultOfSlug },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async ({ name, slug }) => {
      const workspace = await once(createWorkspace, { name, slug }, () => ({
        body: { name: name.trim(), slug },
      }))
      onMade(workspace.id, workspace.secret_key.key ?? '')
    },
    error => (error.code === 'slug_taken' ? { slug: 'Another workspace has this slug.' } : {}),
  )
  return (
    <DoorForm {...submission} submit="Create workspace">
      <NameAndSlug
        form={form}
        example="Acme"
        autoComplete="organization"
        hint="A short name, of letters, digits and hyphens. You cannot change it later."
      />
    </DoorForm>
  )
}
