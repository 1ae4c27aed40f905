import type { PlayedDialog } from './played-states.ts'

/** What a customer has typed before the form is refused. */
const typedName = 'Nightly export'

/**
 * Opens a dialog as a customer does, by the buttons of the widget.
 *
 * @param signal ends the wait for a button, for example of a list that never loads.
 */
export async function openDialog(
  widget: HTMLElement,
  dialog: PlayedDialog,
  signal: AbortSignal,
): Promise<void> {
  const root = widget.shadowRoot
  if (root === null) return
  // It may still show what the service before had.
  await drawn()
  const at = async <E extends HTMLElement>(selector: string) => await shown<E>(root, selector, signal)
  const press = async (selector: string) => {
    const button = await at(selector)
    // The focus returns here when the dialog closes.
    button.focus()
    button.click()
  }
  if (dialog === 'edit') return await press('[part=key] [part=button]:first-child')
  if (dialog === 'revoke') return await press('[part=key] [part=button]:last-child')
  if (dialog === 'pause') return await press('[part=key] [part=button]:nth-last-child(2)')
  if (dialog === 'rotate' || dialog === 'refused-rotate')
    await press('[part=key] [part=button]:nth-last-child(3)')
  else await press('.head [part~=primary]')
  const form = await at<HTMLFormElement>('dialog form')
  if (dialog === 'create' || dialog === 'rotate') return
  const name = form.querySelector<HTMLInputElement>('[part=input]:not(select)')
  if (name !== null) {
    name.value = typedName
    name.dispatchEvent(new Event('input', { bubbles: true }))
    await drawn()
  }
  form.requestSubmit()
}

/** Asks for the list again, once there is one. */
export async function refreshList(
  widget: HTMLElement & { refresh(): Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  if (widget.shadowRoot === null) return
  await drawn()
  await shown(widget.shadowRoot, '[part=key]', signal)
  await widget.refresh()
}

/** Once the widget has drawn what it was given, which it does in microtasks. */
const drawn = () => new Promise(resolve => setTimeout(resolve))

/** The first element that a selector finds, once there is one. */
function shown<E extends HTMLElement>(root: ShadowRoot, selector: string, signal: AbortSignal): Promise<E> {
  const { promise, resolve, reject } = Promise.withResolvers<E>()
  const watch = new MutationObserver(look)
  function look(): void {
    const found = root.querySelector<E>(selector)
    if (found !== null) resolve(found)
  }
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  watch.observe(root, { childList: true, subtree: true })
  look()
  return promise.finally(() => watch.disconnect())
}
