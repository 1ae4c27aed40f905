/** Why an origin cannot be registered, by the same rule as the service; null for one that can. */
export function faultOfOrigin(origin: string, before: readonly string[]): string | null {
  if (origin === '') return 'Enter an origin, or remove this line.'
  if (!/^https?:\/\//.test(origin)) return 'Begin with https:// or http://.'
  const rest = origin.replace(/^https?:\/\//, '')
  if (rest.includes('*')) return 'Name each host: a * matches nothing.'
  if (rest.includes('/')) return 'Leave out the path, also a / at the end.'
  if (!/^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$/.test(rest))
    return 'A host has letters, digits, dots and hyphens.'
  return before.includes(origin) ? 'This origin is there already.' : null
}
