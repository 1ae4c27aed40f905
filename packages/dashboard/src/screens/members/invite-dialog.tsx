import type { Role } from '@keyrail/contract/shared'
import type { CreatedInvite } from '@keyrail/contract/vendor/invites'
import { NativeSelect, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { createInvite } from '../../api/invites.ts'
import { DialogForm } from '../../components/form-frames.tsx'
import { FormModal } from '../../components/form-modal.tsx'
import { mailFolderNote } from '../../components/mail-folder.ts'
import { useFormAction } from '../../components/use-form-action.ts'
import { useOnce } from '../../components/use-once.ts'
import { useMe } from '../../session/me.ts'
import { roleChoices, roleRights } from './roles.ts'

interface InviteDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onInvited: (invite: CreatedInvite) => void
}

export const InviteDialog = (props: InviteDialogProps) => (
  <FormModal isOpen={props.isOpen} onClose={props.onClose} title="Invite a person">
    <InviteForm {...props} />
  </FormModal>
)

function InviteForm({ onClose, onInvited }: InviteDialogProps) {
  const client = useQueryClient()
  const me = useMe()
  const form = useForm({
    mode: 'controlled',
    initialValues: { email: '', role: 'member' as Role },
    validate: { email: text => (/^\S+@\S+$/.test(text.trim()) ? null : 'Enter an e-mail address.') },
  })
  const once = useOnce()
  const submission = useFormAction(
    form,
    async ({ email, role }) => {
      const invite = await once(createInvite, { email, role }, () => ({
        body: { email: email.trim(), role },
      }))
      await client.invalidateQueries({ queryKey: ['invites'] })
      onClose()
      onInvited(invite)
    },
    error => (error.code === 'already_member' ? { email: 'This person is a member already.' } : {}),
  )
  return (
    <DialogForm {...submission} submit="Send invitation" onCancel={onClose}>
      {me.email_verified ? null : (
        <p>
          Verify your own address first: a link was mailed to {me.email}. Your account page sends another.{' '}
          {mailFolderNote}
        </p>
      )}
      <TextInput
        data-autofocus
        label="E-mail address"
        type="email"
        autoComplete="off"
        {...form.getInputProps('email')}
      />
      <NativeSelect
        label="Role"
        description={roleRights[form.values.role]}
        data={roleChoices}
        {...form.getInputProps('role')}
      />
    </DialogForm>
  )
}
