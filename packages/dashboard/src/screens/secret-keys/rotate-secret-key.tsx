import type { RotatedSecretKey, SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { rotateSecretKey } from '../../api/secret-keys.ts'
import { OverlapForm } from '../../components/overlap-form.tsx'
import { useOnce } from '../../components/use-once.ts'
import { titleOf } from './in-words.ts'

interface RotateSecretKeyProps {
  /** Null: the dialog is closed. */
  readonly secretKey: SecretKey | null
  readonly onClose: () => void
  readonly onIssued: (successor: RotatedSecretKey) => void
}

/** Issues the successor of a secret key, with its role and settings. */
export function RotateSecretKey({ secretKey, onClose, onIssued }: RotateSecretKeyProps) {
  const client = useQueryClient()
  const once = useOnce()
  if (secretKey === null) return null
  const rotate = async (overlapHours: number) => {
    const successor = await once(rotateSecretKey, { id: secretKey.id, overlapHours }, () => ({
      id: secretKey.id,
      body: { overlap_hours: overlapHours },
    }))
    onClose()
    onIssued(successor)
    await client.invalidateQueries({ queryKey: ['secret-keys'] })
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Rotate ${titleOf(secretKey)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <OverlapForm expiresAt={secretKey.expires_at} onRotate={rotate} onClose={onClose} />
    </Modal>
  )
}
