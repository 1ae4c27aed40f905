import { Badge, Button, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { requestVerification, updateMe } from '../../api/people.ts'
import { Facts } from '../../components/facts.tsx'
import { PageForm } from '../../components/form-frames.tsx'
import { mailFolderNote } from '../../components/mail-folder.ts'
import { faultOfOptionalName, unlessStored } from '../../components/name-rules.ts'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { useReported } from '../../components/use-reported.ts'
import { meQuery, useMe } from '../../session/me.ts'
import { ChangePassword } from './change-password.tsx'
import { LeaveWorkspace } from './leave-workspace.tsx'
import { Sessions } from './sessions.tsx'

export function Account() {
  const me = useMe()
  const verify = useReported(async () => {
    await requestVerification()
    const sent = `A link is on its way to ${me.email}.`
    notifications.show(
      // More to read than a notification stays.
      mailFolderNote === null
        ? { message: sent }
        : { message: `${sent} ${mailFolderNote}`, autoClose: false },
    )
  })
  return (
    <PageFrame title="Account">
      <Section title="You">
        <Facts
          facts={[
            {
              label: 'E-mail address',
              value: (
                <>
                  {me.email}{' '}
                  {me.email_verified ? (
                    <Badge variant="light">Verified</Badge>
                  ) : (
                    <Button variant="default" size="xs" onClick={() => verify()}>
                      Send a verification link
                    </Button>
                  )}
                </>
              ),
            },
            { label: 'Id', copied: me.id },
            { label: 'Created', value: <RelativeTime at={me.created_at} /> },
          ]}
        />
        <NameForm name={me.name ?? ''} />
      </Section>
      <Section title="Password" lead="A new password ends every other session of yours.">
        <ChangePassword />
      </Section>
      <Section title="Sessions" lead="Where you are signed in.">
        <Sessions />
      </Section>
      <Section title="Leave">
        <LeaveWorkspace />
      </Section>
    </PageFrame>
  )
}

function NameForm({ name }: { name: string }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name },
    validate: { name: unlessStored(name, faultOfOptionalName) },
  })
  const submission = useFormAction(form, async values => {
    const next = values.name.trim()
    if (values.name !== name) await updateMe({ body: { name: next === '' ? null : next } })
    await client.invalidateQueries(meQuery)
    form.resetDirty()
    notifications.show({ message: 'Your name is saved.' })
  })
  return (
    <PageForm {...submission} submit="Save name" mt="md" isPrimary={false}>
      <TextInput
        label="Name"
        autoComplete="name"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
    </PageForm>
  )
}
