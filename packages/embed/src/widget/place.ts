/**
 * Remembers where the focus is. The answer gives it back if it is lost by then, as when a list comes again: to what had it, else
 * its row, else the row that has come in its place, else the heading.
 */
export function keepPlace(root: ShadowRoot): () => void {
  const at = root.activeElement
  const row = at?.closest('[part=key]')
  const places = [at, row, row?.nextElementSibling, row?.previousElementSibling, root.querySelector('h2')]
  return () =>
    // A dialog that takes another's place, or closes, moves the focus by itself.
    queueMicrotask(() => {
      if (root.activeElement === null)
        (places.find(one => one?.isConnected) as HTMLElement | undefined)?.focus()
    })
}
