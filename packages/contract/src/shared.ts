import Type, { type Static, type TSchema } from 'typebox'

/**
 * Shapes that more than one resource uses: the spec's "Shared field types" and the two envelopes.
 *
 * The schemas are plain JSON Schema 2020-12. Four `x-…` keywords carry rules that JSON Schema cannot
 * say; the service's validator knows them, every other reader may ignore them:
 * `x-unique-by` (member that is unique in an array), `x-max-bytes` (UTF-8 length of the compact JSON),
 * `x-max-members` (members an object may have, at every level), `x-unique` (no two equal strings, told
 * after `maxItems` so that a long array costs nothing).
 */

/** Adds `null` to a schema that has a single `type`, so that an error still names the exact path. */
export const nullable = <T extends TSchema & { type?: string; enum?: unknown[] }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [schema.type, 'null'],
    ...(schema.enum !== undefined && { enum: [...schema.enum, null] }),
  })

/** One of a few strings. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

/** An object that refuses members it does not name: `expire_at` must never make a key that lives for ever. */
export const strictObject = <T extends Record<string, TSchema>>(properties: T, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

export const Uuid = Type.String({ format: 'uuid', examples: ['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'] })
export const Env = oneOf(['live', 'test'])
export type Env = Static<typeof Env>
export const Name = Type.String({ minLength: 1, maxLength: 200 })
/** RFC 3339 with `Z` or an offset; the date must exist. Kept to the millisecond, answered in UTC. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2027-01-31T09:30:00.000Z'] })
export const Email = Type.String({ format: 'email', maxLength: 320 })
export const Slug = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$', examples: ['payments-api'] })
export const Meta = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  'x-max-bytes': 65_536,
  'x-max-members': 256,
  description: 'Any JSON object: at most 64 KiB, at most 256 members a level.',
})
/** A vendor's own id of a tenant: no two that are not deleted have the same. */
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Your own id of this customer organisation.',
})

/** How a body names its tenant: by one of the two. */
export const namedTenant = { tenant_id: Type.Optional(Uuid), external_id: Type.Optional(ExternalId) }
/** Goes with `namedTenant` where there must be one. */
export const oneTenant = { oneOf: [{ required: ['tenant_id'] }, { required: ['external_id'] }] }
/** Goes with `namedTenant` where there need be none. */
export const oneTenantAtMost = { not: { required: ['tenant_id', 'external_id'] } }
/** What `oneTenant` says, as a type. */
export type OneTenant =
  | { tenant_id: string; external_id?: never }
  | { tenant_id?: never; external_id: string }

export const Scopes = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 64 })

export const RateLimit = strictObject({
  id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' }),
  limit: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  window_ms: Type.Integer({ minimum: 1_000, maximum: 2_678_400_000 }),
  algorithm: oneOf(['sliding', 'fixed']),
  scope: oneOf(['key', 'tenant']),
})
export type RateLimit = Static<typeof RateLimit>
export const RateLimits = Type.Array(RateLimit, { maxItems: 8, 'x-unique-by': 'id' })

/** Roles in rising order: each may do what those before it may. */
export const Role = oneOf(['member', 'admin', 'owner'])
export type Role = Static<typeof Role>

/** A custom key prefix: the first part of every key issued under a project. */
export const KeyPrefix = Type.String({
  pattern: '^[a-z][a-z0-9]{1,15}$',
  not: { enum: ['krsk', 'krses', 'sk', 'pk', 'rk', 'ghp'] },
  default: 'kr',
})

/** Fields that every resource has. */
export const resource = <T extends string, P extends Record<string, TSchema>>(object: T, properties: P) =>
  strictObject({ object: Type.Literal(object), id: Uuid, ...properties, created_at: Timestamp })

/** The envelope of every list, newest first unless a route says otherwise. */
export const listOf = <T extends TSchema>(item: T) =>
  strictObject({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: nullable(Type.String()),
  })

/** What `DELETE` answers. */
export const deleted = <T extends string>(object: T, more: Record<string, TSchema> = {}) =>
  strictObject({ object: Type.Literal(object), id: Uuid, deleted: Type.Literal(true), ...more })

export const Cursor = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'The `next_cursor` of the page before.',
})

/** Query fields of every list. `most` is the largest `limit`. */
export const paging = (most = 200) => ({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: most, default: 50 })),
  cursor: Type.Optional(Cursor),
})

export const NoQuery = Type.Object({})
export const NoBody = strictObject({})

/** Body of a rotation: how many hours the predecessor stays valid, 7 days at most. */
export const RotateBody = strictObject({
  overlap_hours: Type.Optional(Type.Number({ minimum: 0, maximum: 168, default: 24 })),
})

export const RevokeBody = strictObject({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})

export const BooleanText = oneOf(['true', 'false'], { default: 'false' })

/** The predecessor of a rotation and the moment at which it stops to work. */
export const Predecessor = strictObject({ id: Uuid, expires_at: nullable(Timestamp) })
