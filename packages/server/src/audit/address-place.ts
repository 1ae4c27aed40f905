/**
 * Follows a path of `addressPaths` in a payload: returns the object with the address, and its name there. Null when there
 * is no such member, because the address was null or the row was tampered with.
 */
export function placeOf(
  payload: Record<string, unknown>,
  path: string,
): { holder: Record<string, unknown>; name: string } | null {
  const steps = path.split('.')
  const name = steps.pop() ?? ''
  const holder = steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    payload,
  )
  return typeof holder === 'object' && holder !== null
    ? { holder: holder as Record<string, unknown>, name }
    : null
}
