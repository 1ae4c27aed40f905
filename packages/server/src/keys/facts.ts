import type { RateLimit } from '@keyrail/contract/shared'
import type { Lifetime } from '@keyrail/contract/vendor/projects'
import type { Sight } from '../gate/principal.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { factsByDigest, factsById, importedProject } from './facts-sql.ts'
import type { KeyRow } from './rows.ts'

/** A key with what a verdict on it depends on, as the store has them at `now`. */
export interface KeyFacts extends KeyRow {
  now: Date
  tenant_external_id: string
  tenant_name: string | null
  /** When the tenant was suspended; null: it is not. */
  suspended_at: Date | null
  suspended_reason: string | null
  /** The networks of keys without their own. Empty: any. */
  tenant_cidrs: string[]
  project_name: string
  /** How old a key of the project may become; null: any age. */
  max_key_lifetime_days: number | null
  lifetime: Lifetime
  /** The key's own limits, or those of the project. */
  limits: RateLimit[]
}

/**
 * @param key its id, or its digest.
 * @returns null for a missing key as for one that the caller cannot see.
 */
export async function readKeyFacts(
  tx: ReadTx,
  key: string | Buffer,
  { envs, projectIds }: Sight,
): Promise<KeyFacts | null> {
  const statement = typeof key === 'string' ? factsById : factsByDigest
  const [row] = await tx.query<KeyFacts>(statement, [tx.workspaceId, key, envs, projectIds])
  return row ?? null
}

/** Whether a project that the caller sees accepts imported keys, which have any form. */
export async function seesImported(tx: ReadTx, { projectIds }: Sight): Promise<boolean> {
  const [row] = await tx.query<{ is_there: boolean }>(importedProject, [tx.workspaceId, projectIds])
  return row?.is_there ?? false
}
