/** The networks of a key while a person edits them. */
export interface NetworksDraft {
  readonly kind: 'inherit' | 'any' | 'own'
  readonly ranges: readonly string[]
  /** What is wrong with the ranges, as the field for them has found; null: nothing. */
  readonly fault: string | null
}

/** @param networks null inherits, an empty list is every address; undefined before a service that does not know networks */
export function draftNetworks(networks: readonly string[] | null | undefined): NetworksDraft {
  if (networks == null) return { kind: 'inherit', ranges: [], fault: null }
  return { kind: networks.length === 0 ? 'any' : 'own', ranges: networks, fault: null }
}

export function readNetworks({ kind, ranges }: NetworksDraft): string[] | null {
  if (kind === 'inherit') return null
  return kind === 'any' ? [] : [...ranges]
}

export function faultOfNetworks({ kind, ranges, fault }: NetworksDraft): string | null {
  if (kind !== 'own') return null
  return ranges.length === 0 ? 'Add a range, or choose anywhere.' : fault
}
