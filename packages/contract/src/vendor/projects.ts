import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  deleted,
  idsOrSearch,
  KeyPrefix,
  KnownScopes,
  listOf,
  Name,
  nullable,
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

export const ProjectCreate = strictObject({
  name: Name,
  slug: Slug,
  key_prefix: Type.Optional(KeyPrefix),
  default_rate_limits: Type.Optional(RateLimits),
  known_scopes: Type.Optional(KnownScopes),
  strict_scopes: Type.Optional(StrictScopes),
})
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectUpdate = strictObject({
  name: Type.Optional(Name),
  slug: Type.Optional(Slug),
  default_rate_limits: Type.Optional(RateLimits),
  known_scopes: Type.Optional(KnownScopes),
  strict_scopes: Type.Optional(StrictScopes),
})
export type ProjectUpdate = Static<typeof ProjectUpdate>

export const Project = resource('project', {
  name: StoredName,
  slug: Slug,
  key_prefix: Type.String(),
  default_rate_limits: RateLimits,
  known_scopes: KnownScopes,
  strict_scopes: StrictScopes,
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
