import type { Tx } from '../platform/db/transaction.ts'
import { holdRow } from './sql.ts'

/** For other rooms: whether a secret key is active, and stays active until the commit. */
export const holdSecretKey = (tx: Tx, id: string): Promise<boolean> => holdRow(tx, id)
