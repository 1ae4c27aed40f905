import type { Permission } from '@keyrail/contract/vendor/permissions'
import type { CreatedSecretKey, SecretKeyCreate } from '@keyrail/contract/vendor/secret-keys'
import { NativeSelect, Radio, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from '../../api/api-error.ts'
import { listProjects } from '../../api/projects.ts'
import { readAll } from '../../api/read-all.ts'
import { createSecretKey } from '../../api/secret-keys.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { faultOfOptionalName } from '../../components/name-rules.ts'
import { exactTime } from '../../components/time.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { useShownWorkspace } from '../../session/me.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { PermissionChoice } from './permission-choice.tsx'

interface CreateSecretKeyProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onCreated: (key: CreatedSecretKey) => void
}

export function CreateSecretKey(props: CreateSecretKeyProps) {
  const env = useEnv()
  return (
    <FormModal isOpen={props.isOpen} onClose={props.onClose} title={`Create a secret key for ${env}`}>
      <Form {...props} />
    </FormModal>
  )
}

const lives = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]
const dayMs = 86_400_000
const endOf = (days: string) => new Date(Date.now() + Number(days) * dayMs).toISOString()

const initialValues = {
  name: '',
  rights: 'node',
  permissions: [] as Permission[],
  project_ids: '',
  expires_at: '',
  allowed_cidrs: '',
}

function Form({ onClose, onCreated }: CreateSecretKeyProps) {
  const env = useEnv()
  const { role } = useShownWorkspace()
  const client = useQueryClient()
  const { data: projects } = useQuery({
    queryKey: ['projects', 'all', shownWorkspaceId()],
    queryFn: ({ signal }) => readAll(cursor => listProjects({ query: { limit: 200, cursor } }, { signal })),
  })
  const form = useForm({
    mode: 'controlled',
    initialValues,
    validate: {
      name: text => (text.trim() === '' ? 'Type what the key is for.' : faultOfOptionalName(text)),
      permissions: (chosen, { rights }) =>
        rights === 'chosen' && chosen.length === 0 ? 'Choose at least one permission.' : null,
    },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async values => {
      const key = await once(createSecretKey, { ...values, env }, () => ({ body: bodyOf(values, env) }))
      await client.invalidateQueries({ queryKey: ['secret-keys'] })
      onClose()
      onCreated(key)
    },
    error => faultOfAddress(error, addressesOf(form.getValues().allowed_cidrs)),
  )
  const { rights, expires_at } = form.values
  return (
    <DialogForm {...submission} submit="Create" onCancel={onClose}>
      <TextInput
        data-autofocus
        label="Name"
        placeholder="Payments servers"
        autoComplete="off"
        maxLength={200}
        {...form.getInputProps('name')}
      />
      <Radio.Group label="What it may do" {...form.getInputProps('rights')}>
        <Stack gap="xs" mt={4}>
          <Radio value="node" label="Verify keys" description="For a server, with the SDK or by HTTP" />
          <Radio value="embed" label="Mint embed tokens" description="For a server whose pages embed keys" />
          <Radio
            value="all"
            label={`Everything that an ${role} may`}
            description="For a backend that manages keys"
          />
          <Radio
            value="chosen"
            label="Choose permissions"
            description="For a program that does a few things"
          />
        </Stack>
      </Radio.Group>
      {rights === 'chosen' ? <PermissionChoice {...form.getInputProps('permissions')} /> : null}
      <NativeSelect
        label="Project"
        data={[
          { value: '', label: 'The whole workspace' },
          ...(projects ?? []).map(({ id, name }) => ({ value: id, label: name })),
        ]}
        {...form.getInputProps('project_ids')}
      />
      <NativeSelect
        label="Expires"
        description={expires_at === '' ? 'It works until someone revokes it.' : exactTime(endOf(expires_at))}
        data={lives}
        {...form.getInputProps('expires_at')}
      />
      <TextInput
        label="Only from these addresses"
        description="Addresses or ranges of your servers, with spaces between them. Empty: from everywhere."
        placeholder="203.0.113.0/24"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('allowed_cidrs')}
      />
      {rights === 'all' ? <p>Whoever has this key can do what you can, except sign in.</p> : null}
    </DialogForm>
  )
}

const addressesOf = (text: string): string[] => text.split(/[\s,]+/).filter(one => one !== '')

/** Names the address that the service refuses, by its place in the list. */
function faultOfAddress({ faults }: ApiError, addresses: readonly string[]): { allowed_cidrs?: string } {
  const place = faults
    .map(({ path }) => /^allowed_cidrs\.(\d+)$/.exec(path)?.[1])
    .find(one => one !== undefined)
  const address = addresses[Number(place)]
  return address === undefined ? {} : { allowed_cidrs: `${address} is not an address or a range.` }
}

function bodyOf(values: typeof initialValues, env: SecretKeyCreate['env']): SecretKeyCreate {
  const { rights, project_ids, expires_at } = values
  const cidrs = addressesOf(values.allowed_cidrs)
  return {
    env,
    name: values.name.trim(),
    ...(rights === 'chosen' && { permissions: values.permissions }),
    ...((rights === 'node' || rights === 'embed') && { preset: rights }),
    ...(project_ids !== '' && { project_ids: [project_ids] }),
    ...(expires_at !== '' && { expires_at: endOf(expires_at) }),
    ...(cidrs.length > 0 && { allowed_cidrs: cidrs }),
  }
}
