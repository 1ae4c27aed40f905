import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hear } from './hear.ts'
import { keepPlace } from './place.ts'

interface DialogProps {
  readonly title: ComponentChildren
  /** Asked for by Esc or the system; the dialog stays open until it is no longer drawn. */
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog of the browser: it holds the focus, and gives it back to what opened it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const self = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = self.current
    if (dialog === null) return
    const root = dialog.getRootNode() as ShadowRoot
    const giveBack = keepPlace(root)
    dialog.showModal()
    // A browser may close it in spite of `cancel`, for example when Esc is pressed twice.
    const leave = hear(dialog, ['close'], () => dialog.isConnected && dialog.showModal())
    return () => {
      leave()
      dialog.close()
      // What opened it may be gone, like the row of a revoked key.
      giveBack()
    }
  }, [])
  const ask = (event: Event) => {
    event.preventDefault()
    onClose()
  }
  const onKey = (event: KeyboardEvent) => {
    // To the page, the element is the target, so its shortcuts would take letters that are typed in a field.
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
      {/* One dialog at a time, in a shadow root with names for itself. */}
      <h3 id="title" part="dialog-title">
        <bdi>{title}</bdi>
      </h3>
      {children}
    </dialog>
  )
}
