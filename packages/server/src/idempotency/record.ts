import type { Env } from '@keyrail/contract/shared'

/** The key of a record: a hash that the caller makes, in the caller's workspace and environment. */
export interface RecordKey {
  readonly workspaceId: string
  readonly env: Env
  /** SHA-256 in lower-case hexadecimal digits. */
  readonly scopeHash: string
}

/** Identifies a record within a batch. */
export const nameOfKey = ({ workspaceId, env, scopeHash }: RecordKey): string =>
  `${workspaceId} ${env} ${scopeHash}`

/** The parameters of a statement about many records: `unnest($1::uuid[], $2::text[], $3::bytea[], …)`. */
export const keyColumns = (keys: readonly RecordKey[]): unknown[][] => [
  keys.map(({ workspaceId }) => workspaceId),
  keys.map(({ env }) => env),
  keys.map(({ scopeHash }) => toBytea(scopeHash)),
]

/** The parameters of a statement about one record: `$1::uuid, $2::text, $3::bytea`. */
export const keyValues = ({ workspaceId, env, scopeHash }: RecordKey): unknown[] => [
  workspaceId,
  env,
  Buffer.from(scopeHash, 'hex'),
]

/** Bytes, from hexadecimal digits, as an element of an array parameter. */
export const toBytea = (hex: string): string => `\\x${hex}`

/** A record that the caller claims to hold. */
export interface Held extends RecordKey {
  readonly lockToken: string
}
