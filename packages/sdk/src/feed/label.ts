import type { KeyLabel, Meta, TenantLabel } from '../store/labels.ts'
import { isShallow } from '../store/rate-limits.ts'
import { freeze } from '../store/shared-list.ts'
import { isObject, isText, type Json } from './values.ts'

/** The contract allows `meta` no more levels. A deeper one is left out, like every unreadable part of a label. */
const DEPTH_MAX = 32

export interface NamedTenant {
  tenantId: string
  label: TenantLabel
}

/** The vendor's name and `meta` of a key; undefined if the answer has neither. */
export function readKeyLabel({ name, meta }: Json): KeyLabel | undefined {
  if (name === undefined && meta === undefined) return undefined
  return freeze({ ...readName(name), ...readMeta(meta) })
}

export function readTenants(value: unknown): NamedTenant[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(each => {
    if (!isObject(each) || !isText(each.tenant_id)) return []
    const { tenant_id, external_id, name, meta } = each
    const id = typeof external_id === 'string' ? { externalId: external_id } : {}
    return [{ tenantId: tenant_id, label: freeze({ ...id, ...readName(name), ...readMeta(meta) }) }]
  })
}

const readName = (name: unknown): { name?: string | null } =>
  typeof name === 'string' || name === null ? { name } : {}

const readMeta = (meta: unknown): { meta?: Meta | null } =>
  meta === null || (isObject(meta) && isShallow(meta, DEPTH_MAX)) ? { meta } : {}
