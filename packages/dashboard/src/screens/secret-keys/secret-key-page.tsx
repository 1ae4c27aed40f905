import type { ReadSecretKey } from '@keyrail/contract/vendor/secret-keys'
import { Skeleton, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { getSecretKey, updateSecretKey } from '../../api/secret-keys.ts'
import { Facts } from '../../components/facts.tsx'
import { PageForm } from '../../components/form-frames.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { faultOfOptionalName, unlessStored } from '../../components/name-rules.ts'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { useNames } from '../../components/use-names.ts'
import { usePeople } from '../../components/use-people.ts'
import { useHasRole, useMe } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { makerOf, standingOf, titleOf } from './in-words.ts'
import { inOrder, permissionWords } from './permission-words.ts'
import classes from './secret-keys.module.css'

const route = getRouteApi('/shell/settings/secret-keys/$secretKeyId')

/** What a secret key may do, and its name. */
export function SecretKeyPage() {
  const { secretKeyId } = route.useParams()
  const isEditor = useHasRole('admin')
  const secretKey = useQuery({
    queryKey: ['secret-keys', 'one', shownWorkspaceId(), secretKeyId],
    queryFn: ({ signal }) => getSecretKey({ id: secretKeyId }, { signal }),
  })
  return (
    <PageFrame
      title={secretKey.data === undefined ? 'Secret key' : titleOf(secretKey.data)}
      {...(!isEditor && { lead: 'An admin or an owner can change this secret key.' })}
    >
      <Loaded query={secretKey} skeleton={<Skeleton h={480} />} noun="secret key">
        {found => <WholeKey secretKey={found} isEditor={isEditor} />}
      </Loaded>
    </PageFrame>
  )
}

function WholeKey({ secretKey, isEditor }: { secretKey: ReadSecretKey; isEditor: boolean }) {
  const { id, env, role, display_prefix, created_at, last_used_at, expires_at, revoked_at } = secretKey
  const me = useMe()
  const { data: people } = usePeople()
  const { project_ids, allowed_cidrs } = secretKey
  const projectName = useNames('projects', project_ids ?? [])
  return (
    <>
      <Section title="Facts">
        <Facts
          facts={[
            { label: 'Begins with', value: <code>{display_prefix}…</code> },
            { label: 'Id', copied: id },
            { label: 'Status', value: standingOf(secretKey, Date.now()) },
            { label: 'Environment', value: env === 'live' ? 'Live' : 'Test' },
            { label: 'Role', value: role === 'owner' ? 'Owner' : 'Admin' },
            { label: 'Made by', value: makerOf(secretKey, me.id, people, []) },
            { label: 'Created', value: <RelativeTime at={created_at} /> },
            { label: 'Last used', value: <RelativeTime at={last_used_at} never="Never" /> },
            { label: 'Expires', value: <RelativeTime at={expires_at} never="Never" /> },
            { label: 'Projects', value: project_ids?.map(projectName).join(', ') ?? 'The whole workspace' },
            { label: 'Works from', value: allowed_cidrs?.join(', ') ?? 'Everywhere' },
          ]}
        />
      </Section>
      <Section title="What it may do" lead="This never changes. A server that needs more gets another key.">
        <Permissions of={secretKey} />
      </Section>
      {isEditor && revoked_at === null ? (
        <Section title="Rename">
          <Rename key={secretKey.name} secretKey={secretKey} />
        </Section>
      ) : null}
    </>
  )
}

function Permissions({ of: { permissions, role } }: { of: ReadSecretKey }) {
  if (permissions === null) return <p>Everything that an {role} may, except sign in.</p>
  return (
    <ul className={classes.living}>
      {inOrder(permissions).map(permission => (
        <li key={permission} className={classes.row}>
          <div>
            {permissionWords[permission]}
            <code className={classes.quiet}>{permission}</code>
          </div>
        </li>
      ))}
    </ul>
  )
}

function Rename({ secretKey: { id, name } }: { secretKey: ReadSecretKey }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: name ?? '' },
    validate: {
      name: unlessStored(name ?? '', text =>
        text.trim() === '' ? 'Type what the key is for.' : faultOfOptionalName(text),
      ),
    },
  })
  const submission = useFormAction(form, async values => {
    await updateSecretKey({ id, body: { name: values.name.trim() } })
    await client.invalidateQueries({ queryKey: ['secret-keys'] })
    form.resetDirty()
    notifications.show({ message: 'The name is saved.' })
  })
  return (
    <PageForm {...submission} submit="Save name" isPrimary={false}>
      <TextInput
        label="Name"
        description="What the key is for. Servers do not read it."
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
    </PageForm>
  )
}
