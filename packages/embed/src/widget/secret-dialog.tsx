import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { At } from './at.ts'
import { Dialog } from './dialog.tsx'
import { hear } from './hear.ts'
import { oldEndsOf } from './key-words.ts'
import type { NewSecret } from './keyring.ts'

interface SecretDialogProps {
  readonly at: At
  readonly secret: NewSecret
  readonly onClose: () => void
}

/** Shows a key, once. It asks before it closes, until the person says that the key is stored. */
export function SecretDialog({ at, secret: { key, oldEndsAt }, onClose }: SecretDialogProps) {
  const { words } = at
  const [isStored, setStored] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [copied, setCopied] = useState<'copied' | 'copyFailed' | null>(null)
  const shown = useRef<HTMLElement>(null)
  // At once: the person may leave the page before the browser paints again.
  useLayoutEffect(
    () => (isStored ? undefined : hear(globalThis, ['beforeunload'], event => event.preventDefault())),
    [isStored],
  )
  const frame = isAsking ? 'trouble' : ''
  const close = () => (isStored ? onClose() : setAsking(true))
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(key)
      setCopied('copied')
    } catch {
      // In a frame without permission, or on a page without HTTPS, the older API may still work.
      if (shown.current !== null) getSelection()?.selectAllChildren(shown.current)
      setCopied(document.execCommand('copy') ? 'copied' : 'copyFailed')
    }
  }
  return (
    <Dialog title={words.text('secret')} onClose={close}>
      <p>{words.text('secretLead')}</p>
      {oldEndsAt == null ? null : <p>{oldEndsOf(oldEndsAt, at)}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long key scrolls, also by keyboard. */}
      <code class="secret" part="secret" ref={shown} tabIndex={0} dir="ltr">
        {key}
      </code>
      <div>
        <button type="button" class="primary" part="button primary" onClick={copy}>
          {words.text('copy')}
        </button>{' '}
        <span role="status">{copied === null ? '' : words.text(copied)}</span>
      </div>
      <label class="box">
        <input
          type="checkbox"
          part="checkbox"
          checked={isStored}
          onChange={event => {
            setStored(event.currentTarget.checked)
            setAsking(false)
          }}
        />
        {words.text('stored')}
      </label>
      <div class={frame} part={frame}>
        {isAsking ? <p role="alert">{words.text('closeAsk')}</p> : null}
        <div class="foot">
          {/* One button, so that it keeps the focus. */}
          <button type="button" part="button" onClick={isAsking ? () => setAsking(false) : close}>
            {words.text(isAsking ? 'cancel' : 'done')}
          </button>
          {isAsking ? (
            <button type="button" class="danger" part="button danger" onClick={onClose}>
              {words.text('closeAnyway')}
            </button>
          ) : null}
        </div>
      </div>
    </Dialog>
  )
}
