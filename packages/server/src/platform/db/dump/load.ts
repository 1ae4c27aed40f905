import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { CatalogueTable } from './catalogue.ts'
import { copyIn, countRows, type DumpHeader, type DumpTable, tableName } from './format.ts'
import type { OpenDump } from './open-dump.ts'
import type { OnProgress } from './progress.ts'
import { DumpRefused } from './refused.ts'

/** Longer than any COPY line that fits into the header. */
const statementBytesMax = 1024 * 1024

/**
 * Loads every table of the backup into a new schema.
 * @param ours the tables of that schema. Other tables, which another owner has in the same database, are
 * skipped.
 * @returns the names of the skipped tables.
 */
export async function loadTables(
  client: pg.ClientBase,
  { header, reader }: OpenDump,
  ours: readonly CatalogueTable[],
  onProgress: OnProgress,
): Promise<string[]> {
  refuseOtherColumns(header, ours)
  const names = new Set(ours.map(({ name }) => name))
  const total = header.tables.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0

  async function* counted(table: DumpTable) {
    let rows = 0
    for await (const piece of reader.rows()) {
      rows += countRows(piece)
      yield piece
      onProgress({ step: 'copy', table: table.name, done: done + rows, total })
    }
    if (rows !== table.rows) throw new Error(`${table.name} has ${rows} of ${table.rows} rows`)
    done += rows
  }

  // A row may be loaded before the row that it refers to, if the foreign key is deferrable.
  await client.query('set constraints all deferred')
  for (const table of header.tables) {
    const line = await reader.line(statementBytesMax)
    if (line !== copyIn(table)) throw new Error(`the backup does not continue with ${table.name}`)
    if (names.has(table.name)) {
      // The backup already has the rows that triggers write. Foreign keys are not affected.
      await client.query(`alter table ${tableName(table.name)} disable trigger user`)
      await load(client, table, counted(table))
    } else {
      await drain(counted(table))
    }
  }
  await client.query('set constraints all immediate')
  for (const { name } of ours) await client.query(`alter table ${tableName(name)} enable trigger user`)
  return header.tables.map(({ name }) => name).filter(name => !names.has(name))
}

async function load(client: pg.ClientBase, table: DumpTable, rows: AsyncIterable<Buffer>): Promise<void> {
  try {
    await pipeline(rows, client.query(copyFrom(copyIn(table))))
  } catch (error) {
    throw new Error(`the table ${table.name} could not be loaded`, { cause: error })
  }
}

async function drain(rows: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of rows) {
    // The rows are skipped.
  }
}

/** Sets the position of each of our sequences. */
export async function setSequences(
  client: pg.ClientBase,
  { sequences }: DumpHeader,
  foreign: ReadonlySet<string>,
): Promise<void> {
  for (const { name, lastValue, isCalled } of sequences) {
    if (foreign.has(name)) continue
    await client.query(`select setval(to_regclass($1), $2::bigint, $3)`, [
      tableName(name),
      lastValue,
      isCalled,
    ])
  }
}

/** The restore would silently lose a column that was added by hand. */
function refuseOtherColumns({ tables, migrations }: DumpHeader, ours: readonly CatalogueTable[]): void {
  for (const { name, columns } of ours) {
    const theirs = tables.find(table => table.name === name)?.columns ?? []
    const odd = [...new Set(columns).symmetricDifference(new Set(theirs))]
    if (odd.length > 0) {
      throw new DumpRefused(
        `The table ${name} of the backup does not have the columns of the schema ${migrations.at(-1)} ` +
          `(${odd.join(', ')}). It was changed by hand.`,
      )
    }
  }
}
