/**
 * Listens to events.
 *
 * @returns a function that stops listening
 */
export function hear(
  target: EventTarget,
  names: readonly string[],
  call: (event: Event) => void,
): () => void {
  const ending = new AbortController()
  for (const name of names) target.addEventListener(name, call, { signal: ending.signal })
  return () => ending.abort()
}
