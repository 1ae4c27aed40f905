import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  Env,
  ExternalId,
  Meta,
  namedTenant,
  nullable,
  type OneTenant,
  oneOf,
  oneTenant,
  RateLimits,
  Scopes,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'
import { keySettings } from './keys.ts'

/** Keys that come from another system by their digests, and that go to one. */

/** How many keys a call imports. */
export const importRowsMax = 1_000
/** Bytes of the body of such a call. */
export const importBytesMax = 1_048_576
/** Characters of a key that people see, in a row and in an export. */
export const importedPrefixMax = 20

const SourceId = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'The id that the key has where it comes from.',
})

const row = {
  digest: Type.String({
    pattern: '^(?:[0-9A-Fa-f]{64}|(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?)$',
    description:
      'The SHA-256 of the whole key, as hex, base64 or base64url. It is stored as that of any key, and never shown but in an export.',
    examples: ['2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'],
  }),
  display_prefix: Type.Optional(
    Type.String({
      // No character that JSON escapes: an earlier release sends prefixes to nodes as they are.
      pattern: `^[!#-[\\]-~]{1,${importedPrefixMax}}$`,
      default: 'imported',
      description: 'The part of the key that people may see.',
    }),
  ),
  source_id: Type.Optional(SourceId),
  ...keySettings,
  created_at: Type.Optional({
    ...Timestamp,
    description: 'When the key was made, not in the future. Default: now.',
  } as typeof Timestamp),
  disabled_at: Type.Optional(
    nullable({
      ...Timestamp,
      description: 'When the key was paused, not in the future: it stays paused, as by you. Null: it is not.',
    } as typeof Timestamp),
  ),
}
const RowFields = strictObject(row)
/** A key to import. */
export const KeyImportRow = Type.Unsafe<Static<typeof RowFields> & OneTenant>(
  strictObject({ ...namedTenant, ...row }, oneTenant),
)
export type KeyImportRow = Static<typeof KeyImportRow>

export const KeyImport = strictObject({
  project_id: Uuid,
  env: Env,
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Writes nothing, and answers as the same call without it.' }),
  ),
  create_tenants: Type.Optional(
    Type.Boolean({
      description: 'Creates the tenants whose `external_id` is unknown. Only with a live credential.',
    }),
  ),
  rows: Type.Array(
    // Judged one by one: a row that is not valid costs itself.
    Type.Unsafe<KeyImportRow>({ type: 'object', additionalProperties: true, 'x-shape': KeyImportRow }),
    { minItems: 1, maxItems: importRowsMax },
  ),
})
export type KeyImport = Static<typeof KeyImport>

const ImportedRow = strictObject({
  status: oneOf(['created', 'exists', 'invalid'], {
    description:
      '`exists`: the tenant has the key in the project and environment; the row changes nothing, also if the key was revoked since. Once the key is deleted, the row is invalid.',
  }),
  id: nullable({
    ...Uuid,
    description:
      'The id of the key. Of a row that is invalid: of the key that has its digest in the project and environment, for another tenant. Null: there is none, or none yet.',
  }),
  active: Type.Optional(
    Type.Boolean({
      description:
        'Whether the key is neither revoked, expired nor paused, and its tenant not suspended. Absent: there is no key.',
    }),
  ),
  errors: Type.Optional(
    Type.Array(
      strictObject({
        path: Type.String({ description: 'The field of the row, such as `scopes.1`.' }),
        message: Type.String(),
      }),
      { description: 'Why the row is invalid. Absent: it is not.' },
    ),
  ),
})
export type ImportedRow = Static<typeof ImportedRow>

export const KeyImported = strictObject({
  object: Type.Literal('key_import'),
  dry_run: Type.Boolean(),
  created: Type.Integer({ minimum: 0 }),
  existing: Type.Integer({ minimum: 0 }),
  invalid: Type.Integer({ minimum: 0 }),
  rows: Type.Array(ImportedRow, {
    maxItems: importRowsMax,
    description: 'What became of each row, in the order of the call.',
  }),
})
export type KeyImported = Static<typeof KeyImported>

export const KeyExport = Type.Object({
  cursor: Type.Optional({
    ...Uuid,
    description: 'Begins after the key with this id, the last one of an export that broke off.',
  } as typeof Uuid),
  project_id: Type.Optional(Uuid),
  env: Type.Optional(Env),
})
export type KeyExport = Static<typeof KeyExport>

/** A line of an export. Members that an import may leave out are left out where the key has none. */
export const ExportedKey = strictObject({
  object: Type.Literal('exported_key'),
  id: Uuid,
  project_id: Uuid,
  env: Env,
  external_id: ExternalId,
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  display_prefix: Type.String({ minLength: 1, maxLength: importedPrefixMax }),
  source_id: Type.Optional(SourceId),
  name: Type.Optional(StoredName),
  scopes: Scopes,
  meta: Meta,
  rate_limits: Type.Optional(RateLimits),
  allowed_cidrs: Type.Optional(Type.Array(Type.String())),
  expires_at: Type.Optional(Timestamp),
  created_at: Timestamp,
  disabled_at: Type.Optional(Timestamp),
})
export type ExportedKey = Static<typeof ExportedKey>
/** The last line of an export. Without it, the export broke off. */
export const KeyExportEnd = strictObject({
  object: Type.Literal('export_end'),
  count: Type.Integer({ minimum: 0, description: 'How many keys precede this line.' }),
})
export type KeyExportEnd = Static<typeof KeyExportEnd>
