import type { Project, ProjectUpdate } from '@keyrail/contract/vendor/projects'
import { Alert, Checkbox, TagsInput, TextInput, type TextInputProps } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateProject } from '../../api/projects.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { draftsOf, faultOfDrafts, rulesOf } from '../../components/limit-draft.ts'
import { LimitsEditor } from '../../components/limits-editor.tsx'
import { faultOfName, unlessStored } from '../../components/name-rules.ts'
import { ruleOfScopes } from '../../components/scope-rules.ts'
import { faultOfSlug } from '../../components/slug.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { WarningIcon } from '../../icons.tsx'
import { slugTaken } from './field-rules.ts'

interface EditProjectProps {
  readonly of: Project
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const EditProjectDialog = ({ of: project, isOpen, onClose }: EditProjectProps) => (
  <FormModal isOpen={isOpen} onClose={onClose} isLarge title="Edit project">
    <EditForm of={project} onClose={onClose} />
  </FormModal>
)

/** As the service takes them. */
const faultOfDays = (text: string) => {
  const days = text.trim()
  return days === '' || (/^[1-9]\d{0,3}$/.test(days) && Number(days) <= 3_650)
    ? null
    : 'A whole number from 1 to 3650.'
}

/** As many as a project may have. */
const scopesMax = 200

function EditForm({ of: project, onClose }: Omit<EditProjectProps, 'isOpen'>) {
  const { id, name, slug, known_scopes, strict_scopes, default_rate_limits } = project
  // A process of the release before has no rules.
  const { max_key_lifetime_days = null, lifetime = 'report' } = project
  const client = useQueryClient()
  const form = useForm({
    mode: 'controlled',
    initialValues: {
      name,
      slug,
      known_scopes,
      strict_scopes,
      max_key_lifetime_days: max_key_lifetime_days === null ? '' : String(max_key_lifetime_days),
      lifetime,
      default_rate_limits: draftsOf(default_rate_limits),
    },
    validate: {
      name: unlessStored(name, faultOfName),
      slug: faultOfSlug,
      known_scopes: ruleOfScopes(known_scopes),
      max_key_lifetime_days: faultOfDays,
      default_rate_limits: faultOfDrafts,
    },
  })
  const submission = useFormAction(
    form,
    async values => {
      const days = values.max_key_lifetime_days.trim()
      const next: Required<Omit<ProjectUpdate, 'delete_protection'>> = {
        ...values,
        name: values.name.trim(),
        max_key_lifetime_days: days === '' ? null : Number(days),
        default_rate_limits: rulesOf(values.default_rate_limits),
      }
      // Only what differs, so that a change of someone else in another field stays, and nodes load nothing in vain.
      const body: ProjectUpdate = Object.fromEntries(
        Object.entries(next).filter(([field]) => form.isDirty(field)),
      )
      await updateProject({ id, body })
      await client.invalidateQueries({ queryKey: ['projects'] })
      await client.invalidateQueries({ queryKey: ['nodes'] })
      onClose()
      notifications.show({ message: 'The project is saved.' })
    },
    slugTaken,
  )
  const { known_scopes: listed, strict_scopes: isStrict } = form.getValues()
  return (
    <DialogForm {...submission} submit="Save project" onCancel={onClose}>
      <TextInput label="Name" autoComplete="off" maxLength={200} {...form.getInputProps('name')} />
      <TextInput
        label="Slug"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('slug')}
      />
      <TagsInput
        label="Known scopes"
        description="In the words of your API. Forms offer them. Enter adds one."
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
      <LifetimeFields
        days={form.getInputProps('max_key_lifetime_days')}
        isRefused={form.getValues().lifetime === 'refuse'}
        onRefuse={isRefused => form.setFieldValue('lifetime', isRefused ? 'refuse' : 'report')}
      />
      {/* Before the limits: the end of a long form lies behind its buttons. */}
      <Alert
        role="note"
        variant="default"
        icon={<WarningIcon />}
        title="With new default limits, every node loads all keys again"
      >
        They, and what is refused for its age, reach each node of this project, live and test, with a full
        snapshot of its keys. With many nodes and keys, save at a quiet hour.
      </Alert>
      <LimitsEditor label="Default limits" {...form.getInputProps('default_rate_limits')} />
    </DialogForm>
  )
}

interface LifetimeFieldsProps {
  /** The field with the days, and what is bound to it. */
  readonly days: TextInputProps & { readonly value?: string }
  readonly isRefused: boolean
  readonly onRefuse: (isRefused: boolean) => void
}

function LifetimeFields({ days, isRefused, onRefuse }: LifetimeFieldsProps) {
  return (
    <>
      <TextInput
        label="Days that a key lives at most (optional)"
        description="A new key without an expiry gets this one, and a later one is refused. Empty: any."
        inputMode="numeric"
        autoComplete="off"
        {...days}
      />
      {days.value?.trim() === '' ? null : (
        <Checkbox
          label="Refuse keys that are older"
          description={
            isRefused
              ? 'Every node refuses a key from that day on.'
              : 'Older keys, made before this rule, work. They are listed under Needs attention.'
          }
          checked={isRefused}
          onChange={event => onRefuse(event.currentTarget.checked)}
        />
      )}
    </>
  )
}
