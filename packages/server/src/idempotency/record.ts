import type { Env } from '@keyrail/contract/shared'

/** Which record: the hash that the caller made, in its own workspace and environment. */
export interface RecordKey {
  readonly workspaceId: string
  readonly env: Env
  /** SHA-256 in lower-case hexadecimal digits. */
  readonly scopeHash: string
}

/** Names a record among those of a batch. */
export const nameOfKey = ({ workspaceId, env, scopeHash }: RecordKey): string =>
  `${workspaceId} ${env} ${scopeHash}`

/** As a statement takes them: `unnest($1::uuid[], $2::text[], $3::bytea[], …)`. */
export const keyColumns = (keys: readonly RecordKey[]): unknown[][] => [
  keys.map(({ workspaceId }) => workspaceId),
  keys.map(({ env }) => env),
  keys.map(({ scopeHash }) => toBytea(scopeHash)),
]

/** As a statement about one takes them: `$1::uuid, $2::text, $3::bytea`. */
export const keyValues = ({ workspaceId, env, scopeHash }: RecordKey): unknown[] => [
  workspaceId,
  env,
  Buffer.from(scopeHash, 'hex'),
]

/** Hexadecimal digits in the form in which bytes stand in an array of a statement. */
export const toBytea = (hex: string): string => `\\x${hex}`

/** A record that the caller says it holds. */
export interface Held extends RecordKey {
  readonly lockToken: string
}
