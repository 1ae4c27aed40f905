/**
 * Where a path of `addressPaths` leads in a payload: the object that has the address, and its name in there. Null where
 * there is no such object, as where the address was null or a row was tampered with.
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
