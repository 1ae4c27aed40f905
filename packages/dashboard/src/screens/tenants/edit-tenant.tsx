import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateTenant } from '../../api/tenants.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { faultOfMeta, readMeta, writeMeta } from '../../components/meta-text.ts'
import { faultOfOptionalName, unlessStored } from '../../components/name-rules.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { MetaField } from './meta-field.tsx'

export function EditTenant({ tenant: { id, name, meta } }: { tenant: Tenant }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: name ?? '', meta: writeMeta(meta) },
    validate: { name: unlessStored(name ?? '', faultOfOptionalName), meta: faultOfMeta },
  })
  const submission = useFormAction(form, async values => {
    const next = values.name.trim()
    await updateTenant({
      id,
      body: {
        ...(values.name !== (name ?? '') && { name: next === '' ? null : next }),
        meta: readMeta(values.meta),
      },
    })
    await client.invalidateQueries({ queryKey: ['tenants'] })
    notifications.show({ message: 'The tenant is saved.' })
  })
  return (
    <PageForm {...submission} submit="Save tenant" maw={560} isPrimary={false}>
      <TextInput
        label="Name"
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <MetaField key={form.key('meta')} {...form.getInputProps('meta')} />
    </PageForm>
  )
}
