import { Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { rotateKey } from '../../api/keys.ts'
import { OverlapForm } from '../../components/overlap-form.tsx'
import { useOnce } from '../../components/use-once.ts'
import type { KeyDialogProps } from './edit-key.tsx'
import { KeySecret } from './key-secret.tsx'
import { titleOf } from './key-words.ts'

/** Issues the successor of a key, and shows it once. */
export function RotateKeyDialog({ of: key, isOpen, onClose }: KeyDialogProps) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const [issued, setIssued] = useState<{ readonly id: string; readonly secret: string } | null>(null)
  const once = useOnce()
  const rotate = async (overlapHours: number) => {
    const next = await once(rotateKey, { id: key.id, overlapHours }, () => ({
      id: key.id,
      body: { overlap_hours: overlapHours },
    }))
    onClose()
    setIssued({ id: next.id, secret: next.key ?? '' })
  }
  const show = () => {
    const id = issued?.id ?? key.id
    setIssued(null)
    void client.invalidateQueries({ queryKey: ['keys'] })
    void client.invalidateQueries({ queryKey: ['audit_logs'] })
    void navigate({ to: '/keys/$keyId', params: { keyId: id } })
  }
  return (
    <>
      <Modal
        opened={isOpen}
        onClose={onClose}
        title={`Rotate ${titleOf(key)}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <OverlapForm expiresAt={key.expires_at} onRotate={rotate} onClose={onClose} />
      </Modal>
      <KeySecret secret={issued?.secret ?? null} title="The new key" onClose={show} />
    </>
  )
}
