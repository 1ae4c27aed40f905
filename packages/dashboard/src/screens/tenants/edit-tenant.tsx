import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateTenant } from '../../api/tenants.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { faultOfMeta, readMeta, writeMeta } from '../../components/meta-text.ts'
import { faultOfOptionalName, unlessStored } from '../../components/name-rules.ts'
import { faultOfRanges } from '../../components/ranges.ts'
import { RangesField } from '../../components/ranges-field.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { MetaField } from './meta-field.tsx'

export function EditTenant({ tenant: { id, name, meta, allowed_cidrs: networks = [] } }: { tenant: Tenant }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'controlled',
    initialValues: { name: name ?? '', allowed_cidrs: networks, meta: writeMeta(meta) },
    validate: {
      name: unlessStored(name ?? '', faultOfOptionalName),
      allowed_cidrs: faultOfRanges,
      meta: faultOfMeta,
    },
  })
  const submission = useFormAction(form, async values => {
    const next = values.name.trim()
    await updateTenant({
      id,
      body: {
        ...(values.name !== (name ?? '') && { name: next === '' ? null : next }),
        ...(values.allowed_cidrs.join() !== networks.join() && { allowed_cidrs: values.allowed_cidrs }),
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
      <RangesField
        label="Keys work from"
        description="Addresses or ranges. Keys with networks of their own keep these. Empty: from everywhere."
        value={form.values.allowed_cidrs}
        onChange={next => form.setFieldValue('allowed_cidrs', next)}
        error={form.errors.allowed_cidrs}
        data-path="allowed_cidrs"
      />
      <MetaField key={form.key('meta')} {...form.getInputProps('meta')} />
    </PageForm>
  )
}
