import type pg from 'pg'
import { keyIdSql, type Sealing } from '../../crypto/sealing.ts'
import { placeOf, queryOf, type SealedColumn, sealedColumns } from './columns.ts'
import { inTransaction } from './store.ts'

/** The number of values that one transaction reseals. */
const batchSize = 100

/**
 * Reseals every value that is sealed with another key than the first. If the process is interrupted, finished batches stay
 * resealed.
 * @param onTable called when a table is done.
 * @returns the number of resealed values.
 */
export async function resealAll(
  client: pg.ClientBase,
  sealing: Sealing,
  onTable: (table: string, done: number) => void,
): Promise<number> {
  let all = 0
  for (const column of sealedColumns) {
    let done = 0
    for (let some = -1; some !== 0; done += some) {
      some = await inTransaction(client, () => resealBatch(client, sealing, column))
    }
    onTable(column.table, done)
    all += done
  }
  return all
}

async function resealBatch(client: pg.ClientBase, sealing: Sealing, one: SealedColumn): Promise<number> {
  const { table, column, row } = one
  const query = queryOf(client)
  const found = await query(
    `select ${row} as row, ${column} as sealed from ${table}
     where ${column} is not null and ${keyIdSql(column)} <> $1 limit ${batchSize} for update`,
    [sealing.keyIds[0]],
  )
  for (const { row: name, sealed } of found) {
    const place = placeOf(one, String(name))
    const plain = sealing.open(place, sealed as Buffer)
    await query(`update ${table} set ${column} = $2 where ${row} = $1`, [
      place.row,
      sealing.seal(place, plain),
    ])
  }
  return found.length
}
