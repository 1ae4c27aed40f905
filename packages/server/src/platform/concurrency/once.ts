/** Makes a value once and shares it; if making the value fails, the next caller tries again. */
export function onceItSucceeds<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}
