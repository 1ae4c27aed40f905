import type { Project } from '@keyrail/contract/vendor/projects'
import { Alert } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateProject } from '../../api/projects.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { draftsOf, faultOfDrafts, rulesOf } from '../../components/limit-draft.ts'
import { LimitsEditor } from '../../components/limits-editor.tsx'
import { useFormAction } from '../../components/use-form-action.ts'
import { WarningIcon } from '../../icons.tsx'

/** Edits the limits of every key without its own. */
export function DefaultLimits({ project: { id, default_rate_limits } }: { project: Project }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'controlled',
    initialValues: { default_rate_limits: draftsOf(default_rate_limits) },
    validate: { default_rate_limits: faultOfDrafts },
  })
  const submission = useFormAction(form, async values => {
    const body = { default_rate_limits: rulesOf(values.default_rate_limits) }
    await updateProject({ id, body })
    await client.invalidateQueries({ queryKey: ['projects'] })
    await client.invalidateQueries({ queryKey: ['nodes'] })
    form.resetDirty()
    notifications.show({ message: 'The default limits are saved.' })
  })
  return (
    <PageForm
      {...submission}
      submit="Save default limits"
      maw="100%"
      isPrimary={false}
      isReady={form.isDirty()}
    >
      <LimitsEditor label="Rules" {...form.getInputProps('default_rate_limits')} />
      <Alert role="note" variant="default" icon={<WarningIcon />} title="Every node loads all keys again">
        New default limits reach each node of this project, live and test, with a full snapshot of its keys.
        With many nodes and keys, save at a quiet hour.
      </Alert>
    </PageForm>
  )
}
