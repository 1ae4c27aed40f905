import type { Descendants, SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { Checkbox, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { revokeSecretKey } from '../../api/secret-keys.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { titleOf } from './in-words.ts'

interface RevokeSecretKeyProps {
  /** Null: the dialog is closed. */
  readonly secretKey: SecretKey | null
  readonly onClose: () => void
  /** Keys made with the revoked one, which still work. */
  readonly onLiving: (keys: Descendants) => void
}

export const RevokeSecretKey = ({ secretKey, ...rest }: RevokeSecretKeyProps) =>
  secretKey === null ? null : <OpenDialog secretKey={secretKey} {...rest} />

function OpenDialog({ secretKey, onClose, onLiving }: RevokeSecretKeyProps & { secretKey: SecretKey }) {
  const { id, display_prefix, last_used_at } = secretKey
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [cascades, setCascades] = useState(false)
  return (
    <ConfirmDialog
      isOpen
      title={`Revoke ${titleOf(secretKey)}`}
      action="Revoke secret key"
      isFinal
      onClose={onClose}
      onConfirm={async () => {
        const given = reason.trim()
        const { descendants } = await revokeSecretKey({
          id,
          body: { cascade: cascades, ...(given !== '' && { reason: given }) },
        })
        await client.invalidateQueries({ queryKey: ['secret-keys'] })
        if (!cascades && descendants.count > 0) onLiving(descendants)
      }}
    >
      <Stack gap="md">
        <p>
          Servers that use {display_prefix}… are refused from their next request on. Last used:{' '}
          <RelativeTime at={last_used_at} never="never" />. Pending invitations that were made with it end.
        </p>
        <TextInput
          data-autofocus
          label="Reason"
          description="For your audit log. You may leave it empty."
          maxLength={500}
          value={reason}
          onChange={event => setReason(event.currentTarget.value)}
        />
        <Checkbox
          label="Also revoke every key that was made with it"
          checked={cascades}
          onChange={event => setCascades(event.currentTarget.checked)}
        />
      </Stack>
    </ConfirmDialog>
  )
}
