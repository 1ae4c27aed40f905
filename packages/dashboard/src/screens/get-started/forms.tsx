import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { createProject } from '../../api/projects.ts'
import { createTenant } from '../../api/tenants.ts'
import { PageForm } from '../../components/form-frames.tsx'
import { faultOfName, faultOfOptionalName } from '../../components/name-rules.ts'
import { slugOf } from '../../components/slug.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'

export function ProjectForm() {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: '' },
    validate: {
      name: text =>
        slugOf(text).length < 3 ? 'Enter a name with at least three letters or digits.' : faultOfName(text),
    },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async ({ name }) => {
      await once(createProject, name, () => ({ body: { name: name.trim(), slug: slugOf(name) } }))
      await client.invalidateQueries()
    },
    error => (error.code === 'slug_taken' ? { name: 'Another project has this name.' } : {}),
  )
  return (
    <PageForm {...submission} submit="Create project">
      <TextInput
        label="Name of the project"
        placeholder="Payments"
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
    </PageForm>
  )
}

export function TenantForm() {
  const client = useQueryClient()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { external_id: '', name: '' },
    validate: {
      external_id: text => (text.trim() === '' ? 'Enter the id.' : null),
      name: faultOfOptionalName,
    },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async values => {
      const name = values.name.trim()
      await once(createTenant, values, () => ({
        body: { external_id: values.external_id.trim(), ...(name !== '' && { name }) },
      }))
      await client.invalidateQueries()
    },
    error => (error.code === 'external_id_taken' ? { external_id: 'Another tenant has this id.' } : {}),
  )
  return (
    <PageForm {...submission} submit="Create tenant">
      <TextInput
        label="Your own id of the customer"
        placeholder="org_17"
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        key={form.key('external_id')}
        {...form.getInputProps('external_id')}
      />
      <TextInput
        label="Name of the customer"
        placeholder="Globex"
        autoComplete="off"
        maxLength={200}
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
    </PageForm>
  )
}
