import type { Key, KeyUpdate } from '@keyrail/contract/vendor/keys'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { updateKey } from '../../api/keys.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { unlessStored } from '../../components/name-rules.ts'
import { ruleOfScopes } from '../../components/scope-rules.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { KeyFields } from './key-fields.tsx'
import { formOf, type KeyFormValues, readForm, rules } from './key-form.ts'

export interface KeyDialogProps {
  readonly of: Key
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const EditKeyDialog = ({ of: key, isOpen, onClose }: KeyDialogProps) => (
  <FormModal isOpen={isOpen} onClose={onClose} isLarge title="Edit key">
    <EditForm of={key} onClose={onClose} />
  </FormModal>
)

function EditForm({ of: key, onClose }: Omit<KeyDialogProps, 'isOpen'>) {
  const client = useQueryClient()
  const form = useForm<KeyFormValues>({
    mode: 'controlled',
    initialValues: formOf(key),
    validate: {
      ...rules,
      name: unlessStored(key.name ?? '', rules.name),
      scopes: ruleOfScopes(key.scopes),
    },
  })
  const submission = useFormAction(form, async values => {
    await updateKey({ id: key.id, body: changesOf(key, readForm(values)) })
    await client.invalidateQueries({ queryKey: ['keys'] })
    void client.invalidateQueries({ queryKey: ['audit_logs'] })
    onClose()
    notifications.show({ message: 'The key is saved.' })
  })
  return (
    <DialogForm {...submission} submit="Save key" onCancel={onClose}>
      <KeyFields form={form} lastUsedAt={key.last_used_at} madeAt={key.created_at} />
    </DialogForm>
  )
}

/** Only what differs, so that a change of someone else in another field stays. */
function changesOf(key: Key, next: Required<KeyUpdate>): KeyUpdate {
  const names = ['name', 'scopes', 'meta', 'rate_limits', 'allowed_cidrs', 'expires_at'] as const
  return Object.fromEntries(
    names
      .filter(name => JSON.stringify(key[name] ?? null) !== JSON.stringify(next[name]))
      .map(name => [name, next[name]]),
  )
}
