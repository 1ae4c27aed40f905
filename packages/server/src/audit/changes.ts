import canonicalize from 'canonicalize'

/**
 * The payload of an `…updated` row: old and new value of each field that changed. Fields that change with every update
 * are left out.
 */
export function changesOf<T extends object>(old: T, next: T): Record<string, { old: unknown; new: unknown }> {
  const changes: Record<string, { old: unknown; new: unknown }> = {}
  for (const name of Object.keys(old) as (keyof T & string)[]) {
    if (name === 'updated_at' || name === 'policy_version') continue
    if (canonicalize(old[name]) !== canonicalize(next[name]))
      changes[name] = { old: old[name], new: next[name] }
  }
  return changes
}
