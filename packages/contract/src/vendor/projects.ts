import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  DeleteProtection,
  deleted,
  idsOrSearch,
  KeyPrefix,
  KnownScopes,
  listOf,
  Name,
  nullable,
  oneOf,
  onlyIds,
  paging,
  RateLimits,
  type ReadQuery,
  resource,
  Slug,
  StoredName,
  searchText,
  strictObject,
  Timestamp,
} from '../shared.ts'

/** A typo in a scope is an outage of the tenant that has the key. */
const StrictScopes = Type.Boolean({ description: 'Refuses scopes beyond `known_scopes`.' })

/** Days. A day is 24 hours. */
export const keyLifetimeMax = 3_650
/** Where a key without end is a key that nobody looks for. */
const KeyLifetime = nullable(
  Type.Integer({
    minimum: 1,
    maximum: keyLifetimeMax,
    description:
      'How many days a key lives at most. A key without `expires_at` gets this end; a later one is refused. Null: any time.',
  }),
)
/** What becomes of keys that are older: those of before the rule. */
export const Lifetime = oneOf(['report', 'refuse'], {
  description:
    'Keys older than `max_key_lifetime_days`: `report` lists them as `hygiene=too_old`, and nodes accept them. `refuse`: nodes answer `too_old`.',
})
export type Lifetime = Static<typeof Lifetime>
const rules = {
  known_scopes: Type.Optional(KnownScopes),
  strict_scopes: Type.Optional(StrictScopes),
  max_key_lifetime_days: Type.Optional(KeyLifetime),
  lifetime: Type.Optional(Lifetime),
  delete_protection: Type.Optional(DeleteProtection),
}

export const ProjectCreate = strictObject({
  name: Name,
  slug: Slug,
  key_prefix: Type.Optional(KeyPrefix),
  default_rate_limits: Type.Optional(RateLimits),
  ...rules,
})
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectUpdate = strictObject({
  name: Type.Optional(Name),
  slug: Type.Optional(Slug),
  default_rate_limits: Type.Optional(RateLimits),
  ...rules,
})
export type ProjectUpdate = Static<typeof ProjectUpdate>

export const Project = resource('project', {
  name: StoredName,
  slug: Slug,
  key_prefix: Type.String(),
  default_rate_limits: RateLimits,
  known_scopes: KnownScopes,
  strict_scopes: StrictScopes,
  max_key_lifetime_days: KeyLifetime,
  lifetime: Lifetime,
  delete_protection: DeleteProtection,
  accepts_imported: Type.Boolean({
    description:
      'Whether a key was ever imported: servers then look up any text, and not only keys of the form of this service.',
  }),
  policy_version: nullable(
    Type.Integer({
      minimum: 1,
      description:
        'Rises with every change, live or test, that a node must see. Null for a test credential, since it would reveal changes of live keys.',
    }),
  ),
  updated_at: Timestamp,
})
export type Project = Static<typeof Project>
export const ProjectList = Type.Object(
  {
    slug: Type.Optional(Slug),
    q: searchText('the `name`'),
    ids: onlyIds,
    ...paging(),
  },
  idsOrSearch,
)
export type ProjectList = ReadQuery<typeof ProjectList>
export const Projects = listOf(Project)
export type Projects = Static<typeof Projects>
export const DeletedProject = deleted('project')
