import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import type { Tx } from '../platform/db/transaction.ts'
import { toSecretKey } from './resource.ts'
import { listActiveRowsMadeBy } from './sql.ts'

/** Secret keys that a person, or a key of theirs, has made and that work still, newest first. */
export const listKeysMadeBy = async (tx: Tx, userId: string): Promise<SecretKey[]> =>
  (await listActiveRowsMadeBy(tx, userId)).map(toSecretKey)
