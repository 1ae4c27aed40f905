import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import { oneOf } from '../shared.ts'

/**
 * What a secret key may be limited to. Each route that accepts a secret key names one of them. None implies another:
 * `keys:write` changes keys and does not list them, `keys:import` neither. `policy:labels` opens no route: with it, the feed that `policy:read` opens has
 * names, and the `meta` of tenants, and verdicts on keys have names.
 */
export const permissions = [
  'policy:read',
  'policy:labels',
  'keys:verify',
  'ratelimit:check',
  'idempotency:use',
  'usage:report',
  'usage:read',
  'embed:mint',
  'keys:read',
  'keys:write',
  'keys:import',
  'tenants:read',
  'tenants:write',
  'projects:read',
  'projects:write',
  'workspace:read',
  'workspace:write',
  'members:read',
  'members:write',
  'secret_keys:read',
  'secret_keys:write',
  'audit:read',
  'overview:read',
] as const
export const Permission = oneOf(permissions)
export type Permission = Static<typeof Permission>

/** Named sets of permissions. A key stores the permissions of its preset, not the name. */
export const presets = {
  /** For a server that verifies keys, with the SDK or by HTTP. Does not create, change or list keys. */
  node: ['policy:read', 'keys:verify', 'ratelimit:check', 'idempotency:use', 'usage:report'],
  /** For a server that mints embed tokens for its pages. */
  embed: ['embed:mint'],
} as const satisfies Record<string, readonly Permission[]>
export type Preset = keyof typeof presets
export const Preset = oneOf(Object.keys(presets) as Preset[], {
  description: '`node`: what a server that verifies keys needs. `embed`: minting embed tokens only.',
})

export const Permissions = Type.Array(Permission, {
  minItems: 1,
  maxItems: permissions.length,
  'x-unique': true,
})

/** The most projects that a secret key may be limited to. */
export const projectsMax = 50
