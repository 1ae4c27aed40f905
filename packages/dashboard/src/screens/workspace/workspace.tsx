import type { Workspace as Settings } from '@keyrail/contract/vendor/workspace'
import { Skeleton, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { updateWorkspace } from '../../api/workspaces.ts'
import { Facts } from '../../components/facts.tsx'
import { PageForm } from '../../components/form-frames.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { faultOfName, unlessStored } from '../../components/name-rules.ts'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { meQuery, useHasRole } from '../../session/me.ts'
import { workspaceQuery } from './workspace-query.ts'

/** The name of the company, and where its bills go. */
export function Workspace() {
  const settings = useQuery(workspaceQuery())
  const isAdmin = useHasRole('admin')
  return (
    <PageFrame
      title="Workspace"
      lead={isAdmin ? undefined : 'Only an admin or an owner can change these settings.'}
    >
      <Loaded query={settings} skeleton={<Skeleton h={320} />}>
        {workspace => (
          <>
            <Section title="Settings">
              {isAdmin ? <SettingsForm workspace={workspace} /> : <SettingsFacts workspace={workspace} />}
            </Section>
            <Section title="Facts">
              <Facts
                facts={[
                  { label: 'Id', copied: workspace.id },
                  { label: 'Slug', copied: workspace.slug },
                  { label: 'Created', value: <RelativeTime at={workspace.created_at} /> },
                  { label: 'Changed', value: <RelativeTime at={workspace.updated_at} /> },
                ]}
              />
            </Section>
            <Section title="Delete">
              <p>
                The operator of this service deletes a workspace with <code>keyrail workspace delete</code>.
                No page and no key can.
              </p>
            </Section>
          </>
        )}
      </Loaded>
    </PageFrame>
  )
}

const SettingsFacts = ({ workspace }: { workspace: Settings }) => (
  <Facts
    facts={[
      { label: 'Name', value: workspace.name },
      {
        label: 'Billing address',
        value:
          workspace.billing_email === null
            ? 'None'
            : `${workspace.billing_email}${workspace.billing_email_verified ? '' : ' (not verified)'}`,
      },
    ]}
  />
)

function SettingsForm({ workspace }: { workspace: Settings }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: workspace.name, billing_email: workspace.billing_email ?? '' },
    validate: {
      name: unlessStored(workspace.name, faultOfName),
      billing_email: text =>
        text.trim() === '' || /^\S+@\S+$/.test(text.trim()) ? null : 'Enter an e-mail address, or nothing.',
    },
  })
  const submission = useFormAction(form, async ({ name, billing_email }) => {
    const address = billing_email.trim()
    const next = await updateWorkspace({
      body: {
        ...(name !== workspace.name && { name: name.trim() }),
        billing_email: address === '' ? null : address,
      },
    })
    client.setQueryData(workspaceQuery().queryKey, next)
    await client.invalidateQueries(meQuery)
    notifications.show({ message: 'The settings are saved.' })
  })
  return (
    <PageForm {...submission} submit="Save settings">
      <TextInput
        label="Name"
        autoComplete="organization"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <TextInput
        label="Billing address"
        description="The e-mail address for bills and alarms. A new one gets a link to verify it first. You may leave it empty."
        type="email"
        autoComplete="email"
        key={form.key('billing_email')}
        {...form.getInputProps('billing_email')}
      />
    </PageForm>
  )
}
