import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { version } from '../../../version.ts'
import { appliedMigrations } from '../migrate/migrate.ts'
import { type CatalogueTable, listTables, readSequences } from './catalogue.ts'
import {
  copyIn,
  copyOut,
  countRows,
  type DumpHeader,
  type DumpTable,
  endOfRows,
  formatNumber,
  renderHeader,
  tableName,
} from './format.ts'
import { leftOutOf } from './left-out.ts'
import type { OnProgress } from './progress.ts'
import { DumpRefused } from './refused.ts'

/** Opens a transaction with a snapshot of the current state, and describes the contents. */
export async function openSnapshot(client: pg.ClientBase, onProgress: OnProgress): Promise<DumpHeader> {
  const expected = await listTables(client)
  const migrations = await appliedMigrations(client)
  if (migrations.length === 0) {
    throw new DumpRefused('There is nothing to back up: the database does not have Keyrail’s schema.')
  }
  await refuseUnsealed(client, expected)
  await client.query('begin transaction isolation level repeatable read, read only')
  // Locks before the first query, which takes the snapshot: a migration that rewrote a table between the two would leave the
  // table empty in the snapshot.
  await client.query(
    `lock table ${expected.map(({ name }) => tableName(name)).join(', ')} in access share mode`,
  )
  const tables = await listTables(client)
  if (!isDeepStrictEqual(tables, expected)) {
    throw new DumpRefused('A migration has just run. Run the backup again.')
  }
  const { rows } = await client.query(
    `select now() as taken_at, split_part(current_setting('server_version'), ' ', 1) as version`,
  )
  return {
    format: formatNumber,
    keyrail: version,
    postgres: rows[0].version,
    takenAt: rows[0].taken_at.toISOString(),
    migrations: await appliedMigrations(client),
    tables: await countTables(client, tables, onProgress),
    sequences: await readSequences(client),
  }
}

/** A backup has secrets in sealed form only, so all secrets must be sealed. */
async function refuseUnsealed(client: pg.ClientBase, tables: readonly CatalogueTable[]): Promise<void> {
  const secrets = tables.find(({ name }) => name === 'service_secrets')
  if (!secrets?.columns.includes('sealed')) return
  const { rows } = await client.query('select from service_secrets where sealed is null')
  if (rows.length === 0) return
  throw new DumpRefused(
    'Secrets in the database are not sealed yet. Start this release once to seal them, and run the backup again.',
  )
}

async function countTables(
  client: pg.ClientBase,
  tables: readonly Omit<DumpTable, 'rows'>[],
  onProgress: OnProgress,
): Promise<DumpTable[]> {
  const counted: DumpTable[] = []
  for (const table of tables) {
    onProgress({ step: 'count', table: table.name, done: counted.length, total: tables.length })
    const { rows } = await client.query(
      `select count(*) as rows from ${tableName(table.name)} where ${leftOutOf(table).rows}`,
    )
    counted.push({ ...table, rows: rows[0].rows })
  }
  return counted
}

/** The whole text of a backup, in the pieces that Postgres sends. */
export async function* readSnapshot(
  client: pg.ClientBase,
  header: DumpHeader,
  onProgress: OnProgress,
): AsyncGenerator<Buffer> {
  const total = header.tables.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  yield Buffer.from(renderHeader(header))
  for (const table of header.tables) {
    yield Buffer.from(`${copyIn(table)}\n`)
    let rows = 0
    for await (const piece of client.query(copyTo(copyOut(table)))) {
      rows += countRows(piece)
      yield piece
      onProgress({ step: 'copy', table: table.name, done: done + rows, total })
    }
    if (rows !== table.rows) throw new Error(`${table.name} gave ${rows} of ${table.rows} rows`)
    done += rows
    yield Buffer.from(endOfRows)
  }
}
