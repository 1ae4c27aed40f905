import type pg from 'pg'
import { keyIdSql, type Sealing } from '../../crypto/sealing.ts'

/** A column with sealed values. The role that owns the tables reads and writes it. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** SQL for the primary key as text, to which a sealed value is bound. */
  readonly row: string
  /** The column in which the previous release kept the same secret unsealed, with `plain_until` beside it. */
  readonly plain?: string
}

export const serviceSecrets = {
  table: 'service_secrets',
  column: 'sealed',
  row: 'name',
  plain: 'secret',
} as const satisfies SealedColumn
export const signingKeys = {
  table: 'signing_keys',
  column: 'sealed',
  row: 'kid',
  plain: 'private_key',
} as const satisfies SealedColumn

/** Every sealed column, for resealing when the master key changes. */
export const sealedColumns: readonly SealedColumn[] = [serviceSecrets, signingKeys]
/** The columns that the previous release kept unsealed. */
const oncePlain = [serviceSecrets, signingKeys]

export const placeOf = ({ table, column }: SealedColumn, row: string) => ({ table, column, row })

export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

export const queryOf =
  (client: pg.ClientBase): Query =>
  async (text, values) =>
    (await client.query(text, values)).rows

/**
 * Seals the values that the previous release has written. The unsealed value stays beside the sealed one for a while, because a
 * process of that release may still read it.
 * @param plainForS for how many seconds; 0: no other process runs.
 * @returns the number of sealed values.
 */
export async function sealPlain(query: Query, sealing: Sealing, plainForS: number): Promise<number> {
  let sealed = 0
  for (const one of oncePlain) {
    const { table, column, row, plain } = one
    const open = await query(
      `select ${row} as row, ${plain} as plain from ${table} where ${column} is null for update`,
    )
    for (const found of open) {
      const place = placeOf(one, String(found.row))
      await query(
        `update ${table} set ${column} = $2, plain_until = service_now() + make_interval(secs => $3)
         where ${row} = $1`,
        [place.row, sealing.seal(place, found.plain as Buffer), plainForS],
      )
    }
    sealed += open.length
  }
  return sealed
}

/**
 * Removes unsealed values that no process of the previous release reads any more. `plain_until` stays, and shows that there was
 * an unsealed value.
 * @returns the number of removed values, by table.
 */
export async function erasePlain(query: Query): Promise<Map<string, number>> {
  const erased = new Map<string, number>()
  for (const { table, column, row, plain } of oncePlain) {
    const rows = await query(
      `update ${table} set ${plain} = null
       where ${plain} is not null and ${column} is not null and plain_until <= service_now() returning ${row}`,
    )
    if (rows.length > 0) erased.set(table, rows.length)
  }
  return erased
}

/** How many values each master key has sealed. */
export interface KeyInUse {
  readonly keyId: string
  readonly values: number
}

export async function keysInUse(query: Query): Promise<KeyInUse[]> {
  const counts = sealedColumns.map(
    ({ table, column }) => `select ${keyIdSql(column)} as key_id from ${table} where ${column} is not null`,
  )
  const rows = await query(
    `select key_id, count(*)::int as values from (${counts.join(' union all ')}) s group by 1 order by 1`,
  )
  return rows.map(row => ({ keyId: String(row.key_id), values: Number(row.values) }))
}

/** The number of unsealed values. */
export async function countPlain(query: Query): Promise<number> {
  const counts = oncePlain.map(
    ({ table, plain }) => `(select count(*) from ${table} where ${plain} is not null)`,
  )
  const [row] = await query(`select (${counts.join(' + ')})::int as plain`)
  return Number(row?.plain)
}

/**
 * Removes the values that no given key opens.
 * @returns the removed values, such as `service_secrets cursor`.
 */
export async function discardUnopened(query: Query, keyIds: readonly string[]): Promise<string[]> {
  const lost: string[] = []
  for (const { table, column, row } of sealedColumns) {
    const rows = await query(
      `delete from ${table} where ${column} is not null and ${keyIdSql(column)} <> all($1) returning ${row} as row`,
      [keyIds],
    )
    lost.push(...rows.map(({ row: name }) => `${table} ${name}`))
  }
  return lost
}
