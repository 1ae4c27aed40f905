import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { createTenant } from '../../api/tenants.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { faultOfMeta, readMeta } from '../../components/meta-text.ts'
import { faultOfOptionalName } from '../../components/name-rules.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { MetaField } from './meta-field.tsx'

interface CreateTenantProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const CreateTenant = ({ isOpen, onClose }: CreateTenantProps) => (
  <FormModal isOpen={isOpen} onClose={onClose} title="Create tenant">
    <TenantForm onClose={onClose} />
  </FormModal>
)

function TenantForm({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { external_id: '', name: '', meta: '{}' },
    validate: {
      external_id: text =>
        text.trim() === '' ? 'Enter the id that your system has for this customer.' : null,
      name: faultOfOptionalName,
      meta: faultOfMeta,
    },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async ({ external_id, name, meta }) => {
      const body = {
        external_id: external_id.trim(),
        meta: readMeta(meta),
        ...(name.trim() !== '' && { name: name.trim() }),
      }
      const { id } = await once(createTenant, body, () => ({ body }))
      await client.invalidateQueries({ queryKey: ['tenants'] })
      await navigate({ to: '/tenants/$tenantId', params: { tenantId: id } })
    },
    error => (error.code === 'external_id_taken' ? { external_id: 'Another tenant has this id.' } : {}),
  )
  return (
    <DialogForm {...submission} submit="Create tenant" onCancel={onClose}>
      <TextInput
        data-autofocus
        label="Your id"
        description="The id of this customer in your system. It cannot be changed later."
        placeholder="customer-42"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        key={form.key('external_id')}
        {...form.getInputProps('external_id')}
      />
      <TextInput
        label="Name (optional)"
        placeholder="Globex"
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <MetaField key={form.key('meta')} {...form.getInputProps('meta')} />
    </DialogForm>
  )
}
