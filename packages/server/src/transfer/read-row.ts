import type { FieldFault } from '@keyrail/contract/errors'
import type { RateLimit } from '@keyrail/contract/shared'
import { KeyImportRow } from '@keyrail/contract/vendor/imports'
import { assertKnownScopes } from '../keys/known-scopes.ts'
import { endOfNewKey } from '../keys/lifetime.ts'
import type { ProjectRules } from '../keys/rows.ts'
import { compile } from '../platform/http/validate.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'

/** A row as a key that could be written, whoever has its digest. */
export interface ReadRow {
  /** How the row names its tenant, and with what: an id is in lower case. */
  readonly by: 'tenant_id' | 'external_id'
  readonly tenant: string
  readonly digest: Buffer
  readonly display_prefix: string
  readonly source_id: string | null
  readonly name: string | null
  readonly scopes: string[]
  readonly meta: Record<string, unknown>
  readonly rate_limits: RateLimit[] | null
  readonly allowed_cidrs: string[] | null
  readonly expires_at: Date | null
  readonly created_at: Date
  readonly disabled_at: Date | null
}

const validate = compile(KeyImportRow, 'row')

/**
 * Reads a row by itself.
 * @param now milliseconds since 1970.
 * @returns the faults of a row that is invalid, with paths within the row. None has a value of the row.
 */
export function readRow(
  given: unknown,
  project: ProjectRules,
  now: number,
): { read: ReadRow } | { faults: readonly FieldFault[] } {
  try {
    validate(given)
    return { read: toRead(given as KeyImportRow, project, now) }
  } catch (error) {
    if (error instanceof Refusal && error.faults.length > 0) return { faults: error.faults }
    throw error
  }
}

function toRead(row: KeyImportRow, project: ProjectRules, now: number): ReadRow {
  const digest = readDigest(row.digest)
  const madeAt = row.created_at === undefined ? now : new Date(row.created_at).getTime()
  if (madeAt > now) throw invalidField('created_at', 'must not be in the future')
  // The id of the key begins with this time, in ms since 1970.
  if (madeAt < 0) throw invalidField('created_at', 'must not be before 1970')
  const pausedAt = row.disabled_at == null ? null : new Date(row.disabled_at)
  if (pausedAt !== null && pausedAt.getTime() > now)
    throw invalidField('disabled_at', 'must not be in the future')
  const networks = row.allowed_cidrs == null ? null : readNetworks(row.allowed_cidrs)
  const scopes = row.scopes ?? []
  assertKnownScopes(project, scopes, [])
  return {
    ...(row.tenant_id === undefined
      ? { by: 'external_id', tenant: row.external_id }
      : { by: 'tenant_id', tenant: row.tenant_id.toLowerCase() }),
    digest,
    display_prefix: row.display_prefix ?? 'imported',
    source_id: row.source_id ?? null,
    name: row.name ?? null,
    scopes,
    meta: row.meta ?? {},
    rate_limits: row.rate_limits ?? null,
    allowed_cidrs: networks,
    expires_at: endOfNewKey(project, madeAt, row.expires_at),
    created_at: new Date(madeAt),
    disabled_at: pausedAt,
  }
}

/** @throws {Refusal} for base64 whose last character has bits that no digest has: two texts would be one digest. */
function readDigest(text: string): Buffer {
  if (text.length === 64) return Buffer.from(text, 'hex')
  // Node reads both alphabets of base64.
  const digest = Buffer.from(text, 'base64')
  const same = text.replace('=', '').replaceAll('-', '+').replaceAll('_', '/')
  if (digest.length === 32 && digest.toString('base64').replace('=', '') === same) return digest
  throw invalidField('digest', 'must be a SHA-256 as hex, base64 or base64url')
}
