/**
 * Keeps the focus where the person works. A browser drops it when a dialog goes away, when a button is disabled while its
 * request runs, or when the pressed element is gone. The next Tab would then start at the top of the page, behind any dialog.
 */

const dialogs = '[role="dialog"][aria-modal="true"]'
/** Menus and lists of options close before the dialog that they opened, so the focus does not return to them. */
const passing = '[role="menu"], [role="listbox"]'
const title = 'h1[tabindex="-1"]'

/** The element that has the focus; null after the person has left it and focused nothing else. */
let focused: HTMLElement | null = null
/** The element that had the focus before the open dialog. The focus returns to it. */
let origin: HTMLElement | null = null
/** A button that is disabled while its request runs. It gets the focus back afterwards, unless the person has focused something else. */
let paused: HTMLElement | null = null

/** Call it once, before anything is drawn. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement) note(target)
  })
  // Before anything draws: a message that a field shows when it loses the focus must not bring the focus back.
  const onLeave = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null) focused = null
  }
  document.addEventListener('focusout', onLeave, { capture: true })
  document.addEventListener('focusout', ({ target }) => {
    // An element that is going away is still there during the event.
    queueMicrotask(() => {
      if (target === focused && isNowhere(document.activeElement) && isUsable(focused)) focused = null
    })
  })
  new MutationObserver(mend).observe(document.body, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ['disabled'],
  })
}

function note(target: HTMLElement): void {
  focused = target
  if (!target.matches(dialogs)) paused = null
  if (target.closest(`${dialogs}, ${passing}`) === null) origin = target
}

function mend(): void {
  if (focused !== null) placeFor(focused)?.focus({ preventScroll: true })
}

/**
 * Where the focus goes now; null when it stays.
 *
 * @param last the element that had the focus
 */
function placeFor(last: HTMLElement): HTMLElement | null {
  const active = document.activeElement
  const dialog = [...document.querySelectorAll<HTMLElement>(dialogs)].at(-1) ?? null
  if (paused !== null && isUsable(paused)) {
    const isWaiting = isNowhere(active) || active === dialog
    if (isWaiting && paused.closest(dialogs) === dialog) return paused
  }
  if (!isNowhere(active) && !active.matches(':disabled')) return null
  if (last.isConnected && last.matches(':disabled')) paused = last
  if (dialog !== null) return dialog
  if (paused?.isConnected) return null
  return isUsable(origin) ? origin : document.querySelector<HTMLElement>(title)
}

const isNowhere = (element: Element | null): element is null | HTMLBodyElement =>
  element === null || element === document.body

const isUsable = (element: HTMLElement | null): element is HTMLElement =>
  element?.isConnected === true && !element.matches(':disabled') && element.checkVisibility()
