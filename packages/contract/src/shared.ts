import type { Static, TInteger, TOptional, TSchema } from 'typebox'
import type { ErrorCode } from './errors.ts'
import { Type } from './schema.ts'

/**
 * Shapes that several resources use: the spec's "Shared field types" and the two envelopes.
 *
 * The schemas are plain JSON Schema 2020-12. Five `x-…` keywords hold rules that JSON Schema cannot
 * express; the service's validator applies them, every other reader may ignore them (`x-shape` is only shown, in place of its object):
 * `x-name` (the rule of `names.ts`: a pattern would need `\p{…}`, which generated clients in Python and Go fail to read),
 * `x-unique-by` (member that is unique in an array), `x-max-bytes` (UTF-8 length of the compact JSON),
 * `x-max-members` (members an object may have, at every level), `x-unique` (no two equal strings; checked
 * after `maxItems` so that a long array costs nothing).
 */

/** Adds `null` to a schema with a single `type`, so that an error still names the exact path. */
export const nullable = <T extends TSchema & { type?: string; enum?: unknown[] }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [schema.type, 'null'],
    ...(schema.enum !== undefined && { enum: [...schema.enum, null] }),
  })

/** One of a few strings. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

/** An object that rejects unknown members: a misspelt `expire_at` must not make a key that never expires. */
export const strictObject = <T extends Record<string, TSchema>>(properties: T, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

export const Uuid = Type.String({ format: 'uuid', examples: ['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'] })
export const Env = oneOf(['live', 'test'])
export type Env = Static<typeof Env>
/** A text that is given as the name of something, and shown to people who did not give it. */
const nameOf = (maxLength: number) =>
  Type.String({
    minLength: 1,
    maxLength,
    'x-name': true,
    description:
      'At least one visible character, no control character or end of a line, and none that turns, embeds or isolates the direction of text.',
  })
export const nameLengthMax = 200
/** A name in a request. */
export const Name = nameOf(nameLengthMax)
/** A name in an answer or a filter. It may be older than the rule for names. */
export const StoredName = Type.String({ minLength: 1, maxLength: nameLengthMax })
/** RFC 3339 with `Z` or an offset; the date must exist. Stored to the millisecond, returned in UTC. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2027-01-31T09:30:00.000Z'] })
export const Email = Type.String({ format: 'email', maxLength: 320 })
export const Slug = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$', examples: ['payments-api'] })
export const Meta = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  'x-max-bytes': 65_536,
  'x-max-members': 256,
  description: 'Any JSON object: at most 64 KiB, at most 256 members per level.',
})
/** The vendor's own id of a tenant, unique among tenants that are not deleted. */
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Your id of the tenant.',
})

/** A body names its tenant by one of these. */
export const namedTenant = { tenant_id: Type.Optional(Uuid), external_id: Type.Optional(ExternalId) }
/** Goes with `namedTenant` where a tenant is required. */
export const oneTenant = { oneOf: [{ required: ['tenant_id'] }, { required: ['external_id'] }] }
/** Goes with `namedTenant` where a tenant is optional. */
export const oneTenantAtMost = { not: { required: ['tenant_id', 'external_id'] } }
/** `oneTenant` as a type. */
export type OneTenant =
  | { tenant_id: string; external_id?: never }
  | { tenant_id?: never; external_id: string }

const Scope = Type.String({ minLength: 1, maxLength: 200 })
export const Scopes = Type.Array(Scope, { maxItems: 64 })
/** The scopes of the vendor's API, in the order in which forms offer them. */
export const KnownScopes = Type.Array(Scope, { maxItems: 200, 'x-unique': true })

/** Of a project or a tenant, because a deletion revokes all of its keys for good. */
export const DeleteProtection = Type.Boolean({
  description: 'Whether a deletion is refused, with 409 `protected`, until this is false.',
})

export const RateLimit = strictObject({
  id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' }),
  limit: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
  window_ms: Type.Integer({ minimum: 1_000, maximum: 2_678_400_000 }),
  algorithm: oneOf(['sliding', 'fixed']),
  scope: oneOf(['key', 'tenant']),
})
export type RateLimit = Static<typeof RateLimit>
export const RateLimits = Type.Array(RateLimit, { maxItems: 8, 'x-unique-by': 'id' })

/** In rising order: each role includes the rights of those before it. */
export const Role = oneOf(['member', 'admin', 'owner'])
export type Role = Static<typeof Role>

/** A custom key prefix: the first part of every key issued under a project. */
export const KeyPrefix = Type.String({
  pattern: '^[a-z][a-z0-9]{1,15}$',
  not: { enum: ['krsk', 'krses', 'sk', 'pk', 'rk', 'ghp'] },
  default: 'kr',
})

/** How the embed widget looks; null: as it comes. No script, and no address of an image. */
const themeFields = {
  accent: nullable(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', examples: ['#1d6a58'] })),
  radius: nullable(Type.Integer({ minimum: 0, maximum: 24 })),
}
const logoTextMax = 40
export const EmbedTheme = strictObject(
  { ...themeFields, logo_text: nullable(Type.String({ minLength: 1, maxLength: logoTextMax })) },
  { description: 'Colour of buttons, pixels of corners, and plain text in the place of a logo.' },
)
export type EmbedTheme = Static<typeof EmbedTheme>
export const EmbedThemeUpdate = strictObject(
  {
    accent: Type.Optional(themeFields.accent),
    radius: Type.Optional(themeFields.radius),
    logo_text: Type.Optional(nullable(nameOf(logoTextMax))),
  },
  { description: 'Replaces the fields that it names.' },
)

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

/** The answer of `DELETE`. */
export const deleted = <T extends string, P extends Record<string, TSchema> = Record<never, never>>(
  object: T,
  more: P = {} as P,
) => strictObject({ object: Type.Literal(object), id: Uuid, deleted: Type.Literal(true), ...more })

export const Cursor = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'The `next_cursor` of the previous page.',
})

declare const hasDefault: unique symbol

/** An integer of a query that a caller may leave out. The service then reads its default. */
export const integerOr = (byDefault: number, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, default: byDefault })) as TOptional<TInteger> & {
    readonly [hasDefault]: true
  }

type DefaultedFields<Query> = Query extends { properties: infer Fields }
  ? {
      [Name in keyof Fields]: Fields[Name] extends { readonly [hasDefault]: true } ? Name : never
    }[keyof Fields]
  : never

/** A query as the service reads it: fields that have a default are always there. */
export type ReadQuery<Query extends TSchema> = Static<Query> & {
  [Name in DefaultedFields<Query> & keyof Static<Query>]: Exclude<Static<Query>[Name], undefined>
}

/** Finds the rows of which one of these fields, or a word of their name, begins with it, or that have it as id. */
export const searchText = (fields: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: `The start of ${fields}, or of a later word of the name, A to Z in any case, or the whole id. Sorts by what matches.`,
    }),
  )

/** Reads the rows that have these ids, in one page. A row that does not exist is left out. */
export const onlyIds = Type.Optional(
  Type.Array(Uuid, {
    minItems: 1,
    maxItems: 50,
    description: 'Only these ids, with commas between them. Not with `q`.',
  }),
)
/** Goes with `onlyIds` where `q` is there. */
export const idsOrSearch = { not: { required: ['ids', 'q'] } }

/** Query fields of every list. `most`: the largest `limit`. */
export const paging = (most = 200) => ({
  limit: integerOr(50, 1, most),
  cursor: Type.Optional(Cursor),
})
export const Paging = Type.Object(paging())
/** What a list reads of every query. */
export type Paging = ReadQuery<typeof Paging>

export const NoQuery = Type.Object({})
export const NoBody = strictObject({})

export const overlapHoursDefault = 24

/** Body of a rotation: how many hours the predecessor stays valid, 7 days at most. */
export const RotateBody = strictObject({
  overlap_hours: Type.Optional(Type.Number({ minimum: 0, maximum: 168, default: overlapHoursDefault })),
})
export type RotateBody = Static<typeof RotateBody>

export const RevokeBody = strictObject({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})
export type RevokeBody = Static<typeof RevokeBody>

export const DisableBody = strictObject({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})
export type DisableBody = Static<typeof DisableBody>

export const SuspendBody = strictObject({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
})
export type SuspendBody = Static<typeof SuspendBody>

export const BooleanText = oneOf(['true', 'false'], { default: 'false' })

/** The predecessor of a rotation, and when it stops working. */
export const Predecessor = strictObject({ id: Uuid, expires_at: nullable(Timestamp) })

/** In a list of answers, in place of one: the body of the error that the call alone would have been answered. */
export const ListedError = strictObject({
  error: strictObject({
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Unsafe<ErrorCode>({ type: 'string' }),
    errors: Type.Optional(Type.Array(strictObject({ path: Type.String(), message: Type.String() }))),
    request_id: Type.String(),
  }),
})
