/**
 * Returns what settles first. Results and errors after the time are ignored.
 * @param ms zero or less: the time is over already.
 * @throws what `errorOf` makes, once the time is over.
 */
export async function within<T>(
  ms: number,
  errorOf: () => Error,
  awaited: readonly Promise<T>[],
): Promise<T> {
  const over = Promise.withResolvers<never>()
  // The runtime warns of a negative time, once a process.
  const timer = setTimeout(() => over.reject(errorOf()), Math.max(0, ms))
  try {
    return await Promise.race([...awaited, over.promise])
  } finally {
    clearTimeout(timer)
  }
}
