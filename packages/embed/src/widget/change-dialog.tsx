import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type EmbedError, isEmbedError } from '../client/embed-error.ts'
import type { EmbedKey } from '../types.ts'
import type { At } from './at.ts'
import { Dialog } from './dialog.tsx'
import { Refused } from './trouble.tsx'
import { isMarked } from './use-faults.tsx'

interface ChangeDialogProps {
  readonly at: At
  /** The key that is changed. */
  readonly of?: EmbedKey
  readonly title: ComponentChildren
  /** The text of the button that makes the change. */
  readonly action: ComponentChildren
  readonly kind: 'primary' | 'danger'
  /** Makes the change and ends the dialog. */
  readonly make: () => Promise<void>
  readonly onClose: () => void
  /** The fields. */
  readonly children: ComponentChildren
}

/**
 * A form for one change at a time. A failure is shown in the form; the fields stay as they are. The form stays open until the
 * change is answered: a late answer would close the next dialog, which may show a key that is shown only once.
 */
export function ChangeDialog({ at, of, title, action, kind, make, onClose, children }: ChangeDialogProps) {
  const [trouble, setTrouble] = useState<EmbedError | null>(null)
  const [isBusy, setBusy] = useState(false)
  const isRunning = useRef(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    try {
      await make()
    } catch (error) {
      if (!isEmbedError(error)) throw error
      // The change may have happened: the list behind the dialog shows it.
      if (error.isOutcomeUnknown) void at.keyring.load()
      setTrouble(error)
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }
  const close = () => {
    if (!isRunning.current) onClose()
  }
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={submit}>
        {children}
        {trouble === null || isMarked(trouble) ? null : <Refused at={at} of={of} trouble={trouble} />}
        <div class="foot">
          <button type="button" part="button" aria-disabled={isBusy} onClick={close}>
            {at.words.text('cancel')}
          </button>
          <button type="submit" class={kind} part={`button ${kind}`} aria-disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
