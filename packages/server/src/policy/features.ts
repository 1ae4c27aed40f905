import { feedMetaBytesMax } from '@keyrail/contract/feed'

/**
 * What a node may say that it understands. Each is SQL over a key `k`, and a tenant `t`: a feature adds members to what
 * the feed tells, or it is a rule that a node without it cannot judge by. This table is the one place for both.
 */
export interface Feature {
  /** Whether a key can be judged only by nodes that name the feature: to others it is not there. */
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

/** Those named that are known, sorted, each once: what the answer depends on. Null where none was named. */
export function knownOf(features: Features, named: readonly string[] | undefined): readonly string[] | null {
  if (named === undefined) return null
  return [...new Set(named)].filter(name => Object.hasOwn(features, name)).toSorted()
}
