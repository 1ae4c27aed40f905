/** The language of the nearest element that has one, through shadow roots; then that of the browser. */
export function localeAround(element: Element): string {
  const near = element.closest('[lang]')
  const root = element.getRootNode()
  if (near === null && root instanceof ShadowRoot) return localeAround(root.host)
  return near?.getAttribute('lang') || navigator.language
}
