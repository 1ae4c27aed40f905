import type { Project } from '@keyrail/contract/vendor/projects'
import { Checkbox, TagsInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateProject } from '../../api/projects.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { ruleOfScopes } from '../../components/scope-rules.ts'
import { useFormAction } from '../../components/use-form-action.ts'

/** As many as a project may have. */
const scopesMax = 200

/** Edits the scopes that forms offer for a new key. */
export function KnownScopes({ project: { id, known_scopes, strict_scopes } }: { project: Project }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'controlled',
    initialValues: { known_scopes, strict_scopes },
    validate: { known_scopes: ruleOfScopes(known_scopes) },
  })
  const submission = useFormAction(form, async body => {
    await updateProject({ id, body })
    await client.invalidateQueries({ queryKey: ['projects'] })
    form.resetDirty()
    notifications.show({ message: 'The scopes are saved.' })
  })
  const { known_scopes: listed, strict_scopes: isStrict } = form.getValues()
  return (
    <PageForm {...submission} submit="Save scopes" isPrimary={false} isReady={form.isDirty()}>
      <TagsInput
        label="Known scopes"
        description="In the words of your API. Enter adds one."
        maxTags={scopesMax}
        {...form.getInputProps('known_scopes')}
      />
      <Checkbox
        label="Refuse other scopes"
        description={
          isStrict && listed.length === 0
            ? 'Without a known scope, new keys have none.'
            : 'For new keys, and where a scope is added to a key. Keys keep the scopes that they have.'
        }
        {...form.getInputProps('strict_scopes', { type: 'checkbox' })}
      />
    </PageForm>
  )
}
