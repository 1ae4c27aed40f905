/** Options of `createTestKeyring`. */
export interface TestKeyringOptions {
  env?: 'live' | 'test' | 'both' | undefined
  externalId?: boolean | undefined
  keyMeta?: boolean | undefined
  labels?: boolean | undefined
  names?: boolean | undefined
  meta?: boolean | undefined
}

export const optionNames = {
  env: true,
  externalId: true,
  keyMeta: true,
  labels: true,
  names: true,
  meta: true,
} as const

/** What verdicts have beside the key. */
export function readLabels({ externalId = true, keyMeta = true, labels, names, meta }: TestKeyringOptions) {
  return {
    hasExternalId: externalId || names === true,
    hasKeyMeta: keyMeta || meta === true,
    hasNames: labels === true || names === true,
    hasTenantMeta: labels === true || meta === true,
  }
}
