/**
 * Keeps the focus where the person works. A browser drops it when a dialog goes away, when a button is disabled while its
 * request runs, or when what was pressed is gone. The next Tab would then start at the top of the page, behind any dialog.
 */

const dialogs = '[role="dialog"][aria-modal="true"]'
/** They close before what they opened does, so nothing returns there. */
const passing = '[role="menu"], [role="listbox"]'
const title = 'h1[tabindex="-1"]'

/** What has the focus; null after the person has left it for nothing. */
let focused: HTMLElement | null = null
/** What had the focus before the open dialog: it returns there. */
let origin: HTMLElement | null = null
/** Disabled while its request runs; gets the focus back afterwards, unless the person goes elsewhere. */
let paused: HTMLElement | null = null

/** Call it once, before anything is drawn. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement) note(target)
  })
  // Before anything draws: what a field shows once the focus has left it must not bring the focus back.
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
 * @param last what had it
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
