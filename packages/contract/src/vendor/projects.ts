import Type, { type Static } from 'typebox'
import {
  deleted,
  KeyPrefix,
  listOf,
  Name,
  nullable,
  paging,
  RateLimits,
  resource,
  Slug,
  strictObject,
  Timestamp,
} from '../shared.ts'

export const ProjectCreate = strictObject({
  name: Name,
  slug: Slug,
  key_prefix: Type.Optional(KeyPrefix),
  default_rate_limits: Type.Optional(RateLimits),
})
export type ProjectCreate = Static<typeof ProjectCreate>

export const ProjectUpdate = strictObject({
  name: Type.Optional(Name),
  slug: Type.Optional(Slug),
  default_rate_limits: Type.Optional(RateLimits),
})
export type ProjectUpdate = Static<typeof ProjectUpdate>

export const Project = resource('project', {
  name: Name,
  slug: Slug,
  key_prefix: Type.String(),
  default_rate_limits: RateLimits,
  policy_version: nullable(
    Type.Integer({
      minimum: 1,
      description:
        'Grows with every change that a node must see, live or test. Null for a test credential, which it would tell of live keys.',
    }),
  ),
  updated_at: Timestamp,
})
export type Project = Static<typeof Project>
export const ProjectList = Type.Object({ slug: Type.Optional(Slug), ...paging() })
export type ProjectList = Static<typeof ProjectList>
export const Projects = listOf(Project)
export const DeletedProject = deleted('project')
