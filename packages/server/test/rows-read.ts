import { sql } from '../src/platform/db/connection.ts'
import type { Tx } from '../src/platform/db/transaction.ts'

/** Rows that the transaction has read of a table, through indexes and without them. */
const readSoFar = sql(
  'test.read_so_far',
  `select (pg_stat_get_xact_tuples_returned($1::regclass) +
     (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = $1::regclass))::int as rows`,
)

/** How many rows of a table the transaction has read. A row that a bitmap finds counts twice. */
export const rowsSoFar = async (tx: Tx, table: string): Promise<number> =>
  (await tx.query<{ rows: number }>(readSoFar, [table]))[0]?.rows ?? Number.NaN

/** How many rows of a table the work reads. */
export async function rowsRead(tx: Tx, table: string, work: () => Promise<unknown>): Promise<number> {
  const before = await rowsSoFar(tx, table)
  await work()
  return (await rowsSoFar(tx, table)) - before
}
