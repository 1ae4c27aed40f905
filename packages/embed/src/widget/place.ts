/**
 * Remembers which element has the focus. The returned function restores a focus that is lost by then, for example because the list
 * was drawn again. It focuses the first of these that is still there: the element, its row, the row beside it, the heading.
 */
export function keepPlace(root: ShadowRoot): () => void {
  const at = root.activeElement
  const row = at?.closest('[part=key]')
  const places = [at, row, row?.nextElementSibling, row?.previousElementSibling, root.querySelector('h2')]
  return () =>
    // In a microtask, because a dialog that opens or closes moves the focus by itself.
    queueMicrotask(() => {
      if (root.activeElement === null)
        (places.find(one => one?.isConnected) as HTMLElement | undefined)?.focus()
    })
}
