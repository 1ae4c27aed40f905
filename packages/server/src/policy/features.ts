import { feedMetaBytesMax } from '@keyrail/contract/feed'

/**
 * A feature that a node can name as supported. Each is SQL over a key `k` and a tenant `t`: it adds members to the feed,
 * or it is a rule that only nodes with the feature can apply. This table is the only place for both.
 */
export interface Feature {
  /** A condition on keys that only nodes with this feature can verify; other nodes do not get these keys. */
  readonly needed?: string
  /** Arguments of `concat` that give a key further members, each beginning with its comma. */
  readonly key?: string
  /** The same for the tenants that stand beside the keys; without it there are none. */
  readonly tenant?: string
}

/** By name, which matches `^[a-z][a-z0-9_]{0,31}$`. */
export type Features = Readonly<Record<string, Feature>>

/** JSON is stored as it was written, so its length is known without reading it. */
const metaOf = (row: string) =>
  `',"meta":', case when octet_length(${row}.meta::text) <= ${feedMetaBytesMax} then ${row}.meta::text else 'null' end`
const nameOf = (row: string) => `',"name":', coalesce(to_json(${row}.name)::text, 'null')`

export const feedFeatures: Features = {
  names: { key: nameOf('k'), tenant: `',"external_id":', to_json(t.external_id)::text, ${nameOf('t')}` },
  meta: { key: metaOf('k'), tenant: metaOf('t') },
}

/** The known features among those named, sorted and unique, which the answer depends on. Null when none was named. */
export function knownOf(features: Features, named: readonly string[] | undefined): readonly string[] | null {
  if (named === undefined) return null
  return [...new Set(named)].filter(name => Object.hasOwn(features, name)).toSorted()
}
