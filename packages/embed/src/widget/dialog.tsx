import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hear } from './hear.ts'
import { keepPlace } from './place.ts'

interface DialogProps {
  readonly title: ComponentChildren
  /** Called when Esc or the system asks to close the dialog. The dialog stays open until the caller no longer draws it. */
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog of the browser. It holds the focus, and gives the focus back to the element that opened the dialog. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const self = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = self.current
    if (dialog === null) return
    const root = dialog.getRootNode() as ShadowRoot
    const giveBack = keepPlace(root)
    dialog.showModal()
    // A browser may close the dialog in spite of `cancel`, for example when Esc is pressed twice.
    const leave = hear(dialog, ['close'], () => dialog.isConnected && dialog.showModal())
    return () => {
      leave()
      dialog.close()
      // The element that opened the dialog may be gone, like the row of a revoked key.
      giveBack()
    }
  }, [])
  const ask = (event: Event) => {
    event.preventDefault()
    onClose()
  }
  const onKey = (event: KeyboardEvent) => {
    // The page sees the element as the target of a key press, so shortcuts of the page would take letters that are typed in a field.
    event.stopPropagation()
    if (event.type === 'keydown' && event.key === 'Escape' && !event.isComposing) ask(event)
  }
  return (
    <dialog
      ref={self}
      part="dialog"
      aria-labelledby="title"
      onCancel={ask}
      onKeyDown={onKey}
      onKeyPress={onKey}
      onKeyUp={onKey}
    >
      {/* The id is unique: the shadow root shows one dialog at a time. */}
      <h3 id="title" part="dialog-title">
        <bdi>{title}</bdi>
      </h3>
      {children}
    </dialog>
  )
}
