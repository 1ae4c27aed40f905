import { Button, Group, Modal } from '@mantine/core'
import { type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from 'react'
import end from './dialog-end.module.css'
import classes from './secret-dialog.module.css'
import { useBackAsks } from './use-back-asks.ts'

interface FormModalProps {
  readonly isOpen: boolean
  readonly title: string
  readonly isLarge?: boolean
  /** Closes without a question: the form calls it when it is sent or cancelled. */
  readonly onClose: () => void
  /** The form. */
  readonly children: ReactNode
}

/** A dialog with a form. Esc, a press outside, the cross and the browser's Back ask before they throw away what was typed. */
export function FormModal({ isOpen, title, isLarge = false, onClose, children }: FormModalProps) {
  const isTyped = useRef(false)
  const [isAsking, setAsking] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each opening begins with nothing typed.
  useEffect(() => {
    isTyped.current = false
    setAsking(false)
  }, [isOpen])
  useBackAsks(
    () => isOpen && isTyped.current,
    () => setAsking(true),
  )
  // Options are outside of the dialog for the browser, and inside for React.
  const noteChoice = ({ target }: SyntheticEvent) => {
    if (target instanceof Element && target.closest('[role="option"]') !== null) isTyped.current = true
  }
  return (
    <Modal
      opened={isOpen}
      onClose={() => (isTyped.current ? setAsking(true) : onClose())}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      {...(isLarge && { size: 'lg' })}
    >
      {/* biome-ignore lint/a11y: it only notes what happens in the form. */}
      <div
        onInput={() => {
          isTyped.current = true
        }}
        onClick={noteChoice}
      >
        {children}
      </div>
      {isAsking ? <Question onKeep={() => setAsking(false)} onThrow={onClose} /> : null}
    </Modal>
  )
}

function Question({ onKeep, onThrow }: { onKeep: () => void; onThrow: () => void }) {
  const first = useRef<HTMLButtonElement>(null)
  // Where the person reads the question, at the end of a long form.
  useEffect(() => first.current?.focus(), [])
  return (
    <div className={end.end}>
      <div className={classes.ask} role="alert">
        <p className={classes.lead}>Close and lose what you typed?</p>
        <Group gap="xs">
          <Button ref={first} variant="default" onClick={onKeep}>
            Keep open
          </Button>
          <Button color="red" variant="outline" onClick={onThrow}>
            Close anyway
          </Button>
        </Group>
      </div>
    </div>
  )
}
