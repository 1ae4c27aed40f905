import type { Project } from '@keyrail/contract/vendor/projects'
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateProject } from '../../api/projects.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { faultOfName, unlessStored } from '../../components/name-rules.ts'
import { faultOfSlug } from '../../components/slug.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { slugTaken } from './field-rules.ts'

/** Renames a project. */
export function ProjectNames({ project: { id, name, slug } }: { project: Project }) {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name, slug },
    validate: { name: unlessStored(name, faultOfName), slug: faultOfSlug },
  })
  const submission = useFormAction(
    form,
    async values => {
      await updateProject({
        id,
        body: { ...(values.name !== name && { name: values.name.trim() }), slug: values.slug },
      })
      await client.invalidateQueries({ queryKey: ['projects'] })
      notifications.show({ message: 'The name is saved.' })
    },
    slugTaken,
  )
  return (
    <PageForm {...submission} submit="Save name" mt="md" isPrimary={false}>
      <TextInput
        label="Name"
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <TextInput
        label="Slug"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        key={form.key('slug')}
        {...form.getInputProps('slug')}
      />
    </PageForm>
  )
}
