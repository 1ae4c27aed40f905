/**
 * A browser that translates the page wraps each text in elements, or puts others in its place. React still holds
 * the text: what it removes or inserts beside would not be where it looks, and the whole page would end.
 */

/** What stands where a text was, for a text that has left the page. */
const places = new WeakMap<Node, ChildNode>()

/** Call it once, before anything is drawn. */
export function surviveTranslation(): void {
  const { removeChild, insertBefore } = Node.prototype
  Node.prototype.removeChild = function <T extends Node>(child: T): T {
    const at = placeIn(this, child)
    if (at !== null) removeChild.call(this, at)
    return child
  }
  Node.prototype.insertBefore = function <T extends Node>(node: T, before: Node | null): T {
    insertBefore.call(this, node, before === null ? null : placeIn(this, before))
    return node
  }
  const observer = new MutationObserver(records => {
    for (const record of records) {
      if (record.type === 'characterData') putBack(record.target)
      else {
        const text = [...record.removedNodes].find(isText)
        const place = [...record.addedNodes, record.previousSibling, record.nextSibling].find(isWrapper)
        if (text === undefined || text.isConnected || place === undefined) continue
        places.set(text, place)
        observer.observe(text, { characterData: true })
      }
    }
  })
  observer.observe(document.documentElement, { subtree: true, childList: true })
}

const isText = (node: Node): node is Text => node instanceof Text
const isWrapper = (node: Node | null): node is HTMLElement =>
  node instanceof HTMLElement && node.localName === 'font'

/** What a parent has in the place of a child. Null for a text that is gone: anything else is the fault of the code, and throws. */
function placeIn(parent: Node, child: Node): Node | null {
  if (!isText(child)) return child
  for (let at: Node | null | undefined = child; at != null; at = at.parentNode ?? places.get(at))
    if (at.parentNode === parent) return at
  return null
}

/** A text that has changed is read as it is now. The browser translates it again. */
function putBack(text: Node): void {
  if (isText(text) && !text.isConnected) places.get(text)?.replaceWith(text)
  places.delete(text)
}
