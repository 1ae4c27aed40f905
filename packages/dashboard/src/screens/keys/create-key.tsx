import type { CreatedKey } from '@keyrail/contract/vendor/keys'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createKey } from '../../api/keys.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { KeyFields } from './key-fields.tsx'
import { emptyForm, type KeyFormValues, readForm, rules } from './key-form.ts'
import { KeySecret } from './key-secret.tsx'
import { NamedChoice } from './named-choice.tsx'

interface CreateKeyDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Chosen from the start. */
  readonly projectId: string | null
  readonly tenantId: string | null
}

/** Makes a key in the environment that the page shows, and shows it once. */
export function CreateKeyDialog({ isOpen, onClose, projectId, tenantId }: CreateKeyDialogProps) {
  const [created, setCreated] = useState<CreatedKey | null>(null)
  const env = useEnv()
  const navigate = useNavigate()
  const forget = () => {
    setCreated(null)
    // The person has not seen this key: its page is where it can be rotated.
    if (created !== null && created.key === undefined)
      void navigate({ to: '/keys/$keyId', params: { keyId: created.id } })
  }
  return (
    <>
      <FormModal isOpen={isOpen} onClose={onClose} isLarge title={`Create ${env} key`}>
        <CreateForm
          values={{ ...emptyForm, project_id: projectId, tenant_id: tenantId }}
          onCancel={onClose}
          onCreated={key => {
            onClose()
            setCreated(key)
          }}
        />
      </FormModal>
      <KeySecret
        secret={created === null ? null : (created.key ?? '')}
        title={`Your new ${env} key`}
        onClose={forget}
      />
    </>
  )
}

interface CreateFormProps {
  readonly values: KeyFormValues
  readonly onCancel: () => void
  readonly onCreated: (key: CreatedKey) => void
}

function CreateForm({ values, onCancel, onCreated }: CreateFormProps) {
  const client = useQueryClient()
  const env = useEnv()
  const form = useForm<KeyFormValues>({ mode: 'controlled', initialValues: values, validate: rules })
  const once = useOnce()
  const submission = useFormAction(form, async given => {
    const { project_id, tenant_id } = given
    const { name, expires_at, rate_limits, allowed_cidrs, ...more } = readForm(given)
    const created = await once(createKey, { ...given, env }, () => ({
      body: {
        project_id: project_id ?? '',
        tenant_id: tenant_id ?? '',
        env,
        ...more,
        ...(name !== null && { name }),
        ...(rate_limits !== null && { rate_limits }),
        ...(allowed_cidrs !== null && { allowed_cidrs }),
        ...(expires_at !== null && { expires_at }),
      },
    }))
    void client.invalidateQueries({ queryKey: ['keys'] })
    onCreated(created)
  })
  const { project_id, tenant_id } = form.getValues()
  return (
    <DialogForm {...submission} submit="Create key" onCancel={onCancel}>
      <NamedChoice
        noun="project"
        label="Project"
        placeholder="Type to search"
        value={project_id}
        onChange={id => form.setFieldValue('project_id', id)}
        error={form.errors.project_id}
        data-path="project_id"
      />
      <NamedChoice
        noun="tenant"
        label="Tenant"
        placeholder="Type to search"
        value={tenant_id}
        onChange={id => form.setFieldValue('tenant_id', id)}
        error={form.errors.tenant_id}
        data-path="tenant_id"
      />
      <KeyFields form={form} />
    </DialogForm>
  )
}
