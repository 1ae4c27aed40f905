import type { FieldFault } from '@keyrail/contract/errors'
import type { Env } from '@keyrail/contract/shared'
import type { ImportedRow } from '@keyrail/contract/vendor/imports'
import type { OwnKey } from './import-sql.ts'
import type { ReadRow } from './read-row.ts'

/** A row that becomes a key. */
export interface Planned {
  readonly read: ReadRow
  readonly tenant: string
}
/** What a row becomes; a later row with the same digest becomes what the first one does. */
export type Plan = ImportedRow | { readonly key: Planned } | { readonly same: Planned }

/** What the store says of the rows of a call. */
export interface Standing {
  readonly place: { readonly project_id: string; readonly env: Env }
  /** The tenant that a row names: its id, or a name for one that is made. A fault: there is none. */
  tenantOf(read: ReadRow): string | FieldFault
  /** Whether the tenant was to be made for a row, and was not. */
  isUnmade(tenant: string): boolean
  /** By digest in hex. */
  readonly own: ReadonlyMap<string, OwnKey>
  readonly taken: ReadonlySet<string>
  /** How many active keys a tenant has in the place, and may have. */
  readonly active: ReadonlyMap<string, number>
  readonly activeMax: number
  readonly suspended: ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly now: number
}

export const invalid = (errors: readonly FieldFault[]): ImportedRow => ({
  status: 'invalid',
  id: null,
  errors: [...errors],
})
/** The one answer for a digest of another place or workspace, whichever that is. */
export const refusedDigest = invalid([{ path: 'digest', message: 'cannot be imported' }])

const refusedTwin = invalid([{ path: 'digest', message: 'is that of an earlier row, of another tenant' }])

/** What a row becomes whose digest a key of the workspace has. */
export function ofOwnKey({ place }: Pick<Standing, 'place'>, tenant: string, key: OwnKey): ImportedRow {
  const held = heldBy(place, key)
  if (held === null) return refusedDigest
  return key.tenant_id === tenant ? { status: 'exists', ...held } : { ...refusedDigest, ...held }
}

/**
 * The key of the place that has the digest, whoever its tenant is: who imports there may see it, and may have to end it. Null: the key
 * is of another place.
 */
const heldBy = (
  { project_id, env }: Standing['place'],
  key: OwnKey | undefined,
): { id: string; active: boolean } | null =>
  key?.project_id === project_id && key.env === env ? { id: key.id, active: key.is_active } : null

/** What a row becomes that is written, or that a dry call would write. */
export const madeOf = (
  standing: Pick<Standing, 'suspended' | 'now'>,
  { read, tenant }: Planned,
  id: string | null,
): ImportedRow => ({
  status: 'created',
  id,
  active: isUnexpired(read, standing.now) && read.disabled_at === null && !standing.suspended.has(tenant),
})

const isUnexpired = ({ expires_at }: ReadRow, now: number): boolean =>
  expires_at === null || expires_at.getTime() > now

/** Judges the rows of a call in their order. */
export function planRows(
  rows: readonly ({ read: ReadRow } | { faults: readonly FieldFault[] })[],
  standing: Standing,
): Plan[] {
  const firsts = new Map<string, Planned>()
  const added = new Map<string, number>()
  return rows.map(row => {
    if ('faults' in row) return invalid(row.faults)
    const { read } = row
    const tenant = standing.tenantOf(read)
    const digest = read.digest.toString('hex')
    const own = standing.own.get(digest)
    if (typeof tenant !== 'string') return { ...invalid([tenant]), ...heldBy(standing.place, own) }
    const first = firsts.get(digest)
    if (first !== undefined) return first.tenant === tenant ? { same: first } : refusedTwin
    if (own !== undefined) return ofOwnKey(standing, tenant, own)
    if (standing.taken.has(digest)) return refusedDigest
    if (isUnexpired(read, standing.now)) {
      const active = (standing.active.get(tenant) ?? 0) + (added.get(tenant) ?? 0)
      if (active >= standing.activeMax) return invalid([atCap(read, standing.activeMax)])
      added.set(tenant, (added.get(tenant) ?? 0) + 1)
    }
    // Its key was deleted in this moment, and no tenant was made for it.
    if (standing.isUnmade(tenant)) return refusedDigest
    const key = { read, tenant }
    firsts.set(digest, key)
    return { key }
  })
}

const atCap = ({ by }: ReadRow, most: number): FieldFault => ({
  path: by,
  message: `would have more than ${most} active keys in this project and environment, which is the limit`,
})

export const keysOf = (plans: readonly Plan[]): Planned[] =>
  plans.flatMap(plan => ('key' in plan ? [plan.key] : []))
