import { useQueryClient } from '@tanstack/react-query'
import { enableKey } from '../../api/keys.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import type { KeyDialogProps } from './edit-key.tsx'
import { titleOf } from './key-words.ts'

export function ResumeKeyDialog({ of: key, isOpen, onClose }: KeyDialogProps) {
  const client = useQueryClient()
  const resume = async () => {
    await enableKey({ id: key.id })
    await Promise.all([
      client.invalidateQueries({ queryKey: ['keys'] }),
      client.invalidateQueries({ queryKey: ['audit_logs'] }),
    ])
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={`Resume ${titleOf(key)}`}
      action="Resume key"
      onConfirm={resume}
      onClose={onClose}
    >
      <p>
        Your nodes accept the key again as soon as they hear of it, with the scopes, limits and expiry that it
        has.
      </p>
      {key.disabled_by === 'tenant' ? <p>Your customer paused it. Ask them first.</p> : null}
    </ConfirmDialog>
  )
}
