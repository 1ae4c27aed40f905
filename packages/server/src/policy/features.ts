import { feedMetaBytesMax } from '@keyrail/contract/feed'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import { hasNetworksSql, isOfSuspendedSql } from './cause.ts'

/**
 * A feature that a node can name as supported. Each is SQL over a key `k` and a tenant `t`: it adds members to the feed,
 * or it is a rule that only nodes with the feature can apply. This table is the only place for both.
 */
export interface Feature {
  /** A condition on keys that only nodes with this feature can verify; other nodes do not get these keys. */
  readonly needed?: string
  /**
   * The column of `policy_tenants` with the version at which keys of a tenant last went or came back for nodes without this
   * feature. The log of changes has none of these keys, so for such nodes the version is a floor.
   */
  readonly floor?: 'suspended_version' | 'networks_version'
  /** Further members of a key, each as arguments of `concat` that begin with its comma. */
  readonly key?: readonly string[]
  /** The same for the tenants that stand beside the keys; without it there are none. */
  readonly tenant?: readonly string[]
  /**
   * SQL for the tenants of which this feature says something. Where no feature says something of every tenant, a snapshot lists
   * these alone. A delta lists the others too: what the node knew of them no longer holds.
   */
  readonly tenantsWhere?: string
  /** What a secret key with permissions needs to get it; without it, the feature `instead`, if there is one. */
  readonly permission?: Permission
  readonly instead?: string
}

/** By name, which matches `^[a-z][a-z0-9_]{0,31}$`. */
export type Features = Readonly<Record<string, Feature>>

/** JSON is stored as it was written, so its length is known without reading it. */
const metaOf = (row: string) =>
  `',"meta":', case when octet_length(${row}.meta::text) <= ${feedMetaBytesMax} then ${row}.meta::text else 'null' end`
const nameOf = (row: string) => `',"name":', coalesce(to_json(${row}.name)::text, 'null')`
const cidrsOf = (row: string) => `',"allowed_cidrs":' || array_to_json(${row}.allowed_cidrs)::text`
const externalId = `',"external_id":', to_json(t.external_id)::text`

/** A time as JSON; null for null. */
export const timeSql = (time: string) =>
  `to_char(${time} at time zone 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""')`
/** When a key is too old for its project; null: never. `d` has what the project says. */
const tooOldAt = '(k.created_at + d.refused_after)'
/** The end of a key for nodes that do not know that keys get too old. */
export const earlierEndSql = `least(k.expires_at, ${tooOldAt})`
/** The node tells keys that are too old from those that have expired. */
export const lifetimeFeature = 'lifetime'

/** The node refuses the keys of a tenant while it is suspended, and so holds them. */
export const suspendedFeature = 'suspended'

/** The node looks up any text as a key, where its project has keys from another system. */
export const importedFeature = 'imported'

/** What a server needs to know is open to `policy:read`; what people call things and note about tenants is not. */
const labelled = { permission: 'policy:labels' } as const
export const feedFeatures: Features = {
  external_id: { tenant: [externalId] },
  key_meta: { key: [metaOf('k')] },
  labels: { key: [nameOf('k')], tenant: [nameOf('t'), metaOf('t')], ...labelled },
  [suspendedFeature]: {
    needed: isOfSuspendedSql,
    floor: 'suspended_version',
    tenant: [`case when t.suspended_at is not null then ',"suspended":true' end`],
    tenantsWhere: 't.suspended_at is not null and t.deleted_at is null',
  },
  cidr: {
    needed: hasNetworksSql,
    floor: 'networks_version',
    key: [`case when k.allowed_cidrs is not null then ${cidrsOf('k')} end`],
    tenant: [`case when t.allowed_cidrs <> '{}' then ${cidrsOf('t')} end`],
    tenantsWhere: `t.allowed_cidrs <> '{}' and t.deleted_at is null`,
  },
  [importedFeature]: { needed: 'k.imported_at is not null' },
  [lifetimeFeature]: {
    key: [
      `case when ${tooOldAt} < coalesce(k.expires_at, 'infinity') then ',"too_old_at":' || ${timeSql(tooOldAt)} end`,
    ],
  },
  // Older nodes name these two, which give labels where the secret key may see labels.
  names: { key: [nameOf('k')], tenant: [externalId, nameOf('t')], ...labelled, instead: 'external_id' },
  meta: { key: [metaOf('k')], tenant: [metaOf('t')], ...labelled, instead: 'key_meta' },
}

/** The answer to a held poll says for how long it was held. */
export const heldFeature = 'held_ms'
/** The answer says whether the service takes `POST /v1/usage/refusals` from the node. */
const refusalsFeature = 'refusals'
/** These two add nothing to keys, so answers do not list them. */
const apart: readonly string[] = [heldFeature, refusalsFeature]

/** Whether an answer says that the service takes reports of refusals: the node asked for that and may report. */
export const takesRefusals = (
  named: readonly string[] | undefined,
  permissions: ReadonlySet<Permission> | null,
): boolean =>
  named?.includes(refusalsFeature) === true && (permissions === null || permissions.has('usage:report'))

/**
 * The features that a node is given of those that it names, sorted and unique, which the answer depends on. Null when it names
 * none.
 * @param permissions those of its secret key; null: it has all.
 */
export function givenOf(
  features: Features,
  named: readonly string[] | undefined,
  permissions: ReadonlySet<Permission> | null,
): readonly string[] | null {
  const others = named?.filter(name => !apart.includes(name)) ?? []
  if (named === undefined || (named.length > 0 && others.length === 0)) return null
  const given = others.flatMap(name => {
    const feature = Object.hasOwn(features, name) ? features[name] : undefined
    if (feature === undefined) return []
    const { permission, instead } = feature
    if (permission === undefined || permissions === null || permissions.has(permission)) return [name]
    return instead === undefined ? [] : [instead]
  })
  return [...new Set(given)].toSorted()
}
