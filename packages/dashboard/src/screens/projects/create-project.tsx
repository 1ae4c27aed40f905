import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { createProject } from '../../api/projects.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { faultOfDrafts, type LimitDraft, rulesOf } from '../../components/limit-draft.ts'
import { LimitsEditor } from '../../components/limits-editor.tsx'
import { NameAndSlug } from '../../components/name-and-slug.tsx'
import { faultOfName } from '../../components/name-rules.ts'
import { faultOfSlug } from '../../components/slug.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { faultOfPrefix, slugTaken } from './field-rules.ts'

interface CreateProjectProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const CreateProject = ({ isOpen, onClose }: CreateProjectProps) => (
  <FormModal isOpen={isOpen} onClose={onClose} isLarge title="Create project">
    <ProjectForm onClose={onClose} />
  </FormModal>
)

function ProjectForm({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const form = useForm({
    mode: 'controlled',
    initialValues: { name: '', slug: '', key_prefix: 'kr', default_rate_limits: [] as LimitDraft[] },
    validate: {
      name: faultOfName,
      slug: faultOfSlug,
      key_prefix: faultOfPrefix,
      default_rate_limits: faultOfDrafts,
    },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async ({ name, slug, key_prefix, default_rate_limits }) => {
      const body = { name: name.trim(), slug, key_prefix, default_rate_limits: rulesOf(default_rate_limits) }
      const { id } = await once(createProject, body, () => ({ body }))
      await client.invalidateQueries({ queryKey: ['projects'] })
      await navigate({ to: '/projects/$projectId', params: { projectId: id } })
    },
    slugTaken,
  )
  return (
    <DialogForm {...submission} submit="Create project" onCancel={onClose}>
      <NameAndSlug
        form={form}
        example="Payments"
        autoComplete="off"
        hint="Names the project in your own configuration."
      />
      <TextInput
        label="Key prefix"
        description={`Keys begin with ${form.values.key_prefix}_live_ or ${form.values.key_prefix}_test_. It cannot be changed later.`}
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('key_prefix')}
      />
      <LimitsEditor label="Default limits" {...form.getInputProps('default_rate_limits')} />
    </DialogForm>
  )
}
