/**
 * Secrets in the database. `store.ts` joins a connection with the keys that open its secrets, `columns.ts` lists sealed
 * columns, `reseal.ts` seals them anew, `signing-keys.ts` and `service-secret.ts` are stored so.
 */

import type pg from 'pg'
import { serviceBudgets } from '../../budgets.ts'
import type { EncryptionKey } from '../../crypto/encryption-keys.ts'
import { openSealing, type Sealing, UnknownKey } from '../../crypto/sealing.ts'
import { type Connection, patientAtStart } from '../connection.ts'
import { isLockTimeout } from '../errors.ts'
import { connectPrimary } from '../failover/timeline.ts'
import type { Chore } from '../upkeep.ts'
import { erasePlain, keysInUse, type Query, queryOf, sealPlain } from './columns.ts'

/** A database with the keys that open its secrets. */
export interface SealedStore {
  readonly connection: Connection
  readonly sealing: Sealing
  /** For how many seconds a process of the previous release may still run beside this one, and read unsealed values. */
  readonly plainForS: number
  /** How long a request may take that waits for a secret. */
  readonly requestMs: number
}

/** How long an upgrade of several processes, one by one, may take, in seconds. */
export const upgradeS = 3_600

export interface SealedStoreSettings {
  readonly encryptionKeys: readonly EncryptionKey[]
  /** Null: an embedded Postgres, whose only process holds the directory. */
  readonly databaseUrl: string | null
}

/**
 * Makes sure that all sealed values can be opened, and seals the values that the previous release has written.
 * @throws {UnknownKey} naming the missing keys.
 */
export async function openSealedStore(
  connection: Connection,
  { encryptionKeys, databaseUrl }: SealedStoreSettings,
  randomBytes: (size: number) => Buffer,
  requestMs: number = serviceBudgets.requestMs,
): Promise<SealedStore> {
  const sealing = openSealing(encryptionKeys, randomBytes)
  const plainForS = databaseUrl === null ? 0 : upgradeS
  const client = await connectPrimary(patientAtStart(connection), 'secrets', false)
  const query = queryOf(client)
  try {
    await refuseUnknownKeys(query, sealing.keyIds)
    await inTransaction(client, () => sealPlain(query, sealing, plainForS))
    await eraseDue(client)
  } finally {
    await client.end()
  }
  return { connection, sealing, plainForS, requestMs }
}

/** @throws {UnknownKey} naming the missing keys. */
export async function refuseUnknownKeys(query: Query, keyIds: readonly string[]): Promise<void> {
  const unknown = (await keysInUse(query)).filter(({ keyId }) => !keyIds.includes(keyId))
  if (unknown.length === 0) return
  const which = unknown.map(({ keyId, values }) => `${keyId} (${values} of them)`).join(' and ')
  throw new UnknownKey(
    `Secrets in the database are sealed with the encryption key ${which}. Given: ${keyIds.join(', ')}.`,
  )
}

/** Removes unsealed values whose time is over. */
async function eraseDue(client: pg.ClientBase): Promise<number> {
  const erased = await erasePlain(queryOf(client))
  for (const table of erased.keys()) await rewrite(client, table)
  return [...erased.values()].reduce((sum, rows) => sum + rows, 0)
}

export const erasePlainSecrets: Chore = { name: 'plain secrets', run: eraseDue }

/** Rewrites the file of the table, so that it keeps no old rows: Postgres never vacuums so small a table by itself. */
async function rewrite(client: pg.ClientBase, table: string): Promise<void> {
  // Readers wait behind this lock, but it does not wait for a running backup.
  await client.query(`set lock_timeout = '500ms'`)
  try {
    await client.query(`vacuum full ${table}`)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  } finally {
    await client.query('reset lock_timeout')
  }
}

export async function inTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
