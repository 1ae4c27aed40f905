import { Anchor, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { adoptWorkspace } from '../../api/people.ts'
import { DoorFrame } from '../../components/door-frame.tsx'
import { DoorForm } from '../../components/form-frames.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { OpenWorkspace } from './open-workspace.tsx'

/** Makes the person the owner of a workspace without members, by a secret key of it. */
export function AdoptWorkspace() {
  const [adopted, setAdopted] = useState<string | null>(null)
  if (adopted !== null) return <OpenWorkspace id={adopted} />
  return (
    <DoorFrame
      title="Open a workspace by its secret key"
      lead="For a workspace that a script or the bootstrap token has made, and that has no members yet. You become its owner."
      aside={
        <Anchor renderRoot={props => <Link to="/workspaces/new" {...props} />}>
          Create a workspace instead
        </Anchor>
      }
    >
      <KeyForm onAdopted={setAdopted} />
    </DoorFrame>
  )
}

/** What each refusal means here. */
const faults: Record<string, string> = {
  invalid_token: 'No active secret key has this text. Copy it whole; it begins with krsk_.',
  owner_required: 'This key has fewer rights than an owner. Use the first secret key of the workspace.',
  workspace_taken: 'The workspace has members. Ask one of its owners for an invitation.',
}

function KeyForm({ onAdopted }: { onAdopted: (id: string) => void }) {
  const form = useForm({
    mode: 'controlled',
    initialValues: { secret_key: '' },
    validate: { secret_key: text => (text.trim() === '' ? 'Enter a secret key.' : null) },
  })
  const submission = useFormAction(
    form,
    async ({ secret_key }) => {
      const { id } = await adoptWorkspace({ body: { secret_key: secret_key.trim() } })
      form.reset()
      onAdopted(id)
    },
    ({ code }) => (faults[code] === undefined ? {} : { secret_key: faults[code] }),
  )
  return (
    <DoorForm {...submission} submit="Open workspace">
      <TextInput
        {...form.getInputProps('secret_key')}
        label="Secret key"
        description="The one that was shown when the workspace was made, or another of an owner without limits."
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
    </DoorForm>
  )
}
