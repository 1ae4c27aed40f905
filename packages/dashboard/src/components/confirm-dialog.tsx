import { Modal, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { DialogForm } from './form-frames.tsx'
import { useSending } from './use-sending.ts'

interface ConfirmDialogProps {
  readonly isOpen: boolean
  readonly title: string
  /** What happens, and what cannot be undone. */
  readonly children: ReactNode
  /** A verb and a noun: "Revoke key". */
  readonly action: string
  /** The person types this name first, for what cannot be undone. */
  readonly typedName?: string | undefined
  /** Red is only for what cannot be undone. */
  readonly isFinal?: boolean
  /** False while what the person must know first is not there yet. */
  readonly isReady?: boolean
  /** The dialog closes when this succeeds, and shows why it did not otherwise. */
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Asks before a change that matters. */
export const ConfirmDialog = (props: ConfirmDialogProps) => (
  <Modal
    opened={props.isOpen}
    onClose={props.onClose}
    title={props.title}
    closeButtonProps={{ 'aria-label': 'Close' }}
  >
    <Question {...props} />
  </Modal>
)

function Question({
  children,
  action,
  typedName,
  isFinal,
  isReady = true,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const [sending, send] = useSending()
  const isAllowed = isReady && (typedName === undefined || typed === typedName)
  const confirm = (event: FormEvent) => {
    event.preventDefault()
    if (!isAllowed) return
    void send(async () => {
      await onConfirm()
      onClose()
    })
  }
  return (
    <DialogForm
      {...sending}
      onSubmit={confirm}
      submit={action}
      isFinal={isFinal}
      isReady={isAllowed}
      onCancel={onClose}
    >
      <div>{children}</div>
      {typedName === undefined ? null : (
        <TextInput
          data-autofocus
          label={`Type ${typedName} to confirm`}
          value={typed}
          onChange={event => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </DialogForm>
  )
}
