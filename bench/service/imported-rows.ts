import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BenchFault } from '../harness/bench.ts'
import { durableDirectory } from '../harness/durable-directory.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import type { Vendor } from './vendor.ts'

/** The rows that an import has left in each table, as files that `COPY` reads: the same rows with new ids and digests each time. */

const tables = ['api_keys', 'credentials', 'policy_changes', 'audit_logs'] as const
type Table = (typeof tables)[number]

/** The columns that differ from one writing to the next. $ stands for the number of the writing. */
const newOnes: Readonly<Record<Table, Readonly<Record<string, string>>>> = {
  api_keys: { id: newId('id'), lookup_hash: newDigest('lookup_hash') },
  credentials: { id: newId('id'), digest: newDigest('digest') },
  policy_changes: { key_id: newId('key_id'), version: 'version + $' },
  audit_logs: { target_id: newId('target_id'), seq: 'seq + $ * 1000000' },
}
/** Like a UUID of version 7: random but for its beginning. */
function newId(column: string): string {
  const random = `md5($ || ${column}::text)`
  return `(substr(${column}::text, 1, 14) || '7' || substr(${random}, 1, 3) || '-8' || substr(${random}, 4, 3) || '-' || substr(${random}, 7, 12))::uuid`
}
function newDigest(column: string): string {
  return `sha256(convert_to($::text, 'UTF8') || ${column})`
}

export interface RowFiles {
  /** How many keys the files have. */
  readonly keys: number
  /** Writes the files with other ids and digests than before. */
  renew(): Promise<void>
  /** Copies all files into their tables, in one transaction. */
  copy(): Promise<void>
  close(): void
}

/** @param vendor has the keys that an import has made, and no others. Its chain does not stay whole */
export async function openRowFiles(postgres: ScratchPostgres, { workspaceId }: Vendor): Promise<RowFiles> {
  const folder = mkdtempSync(join(durableDirectory(), 'keyrail-bench-rows-'))
  // Postgres writes and reads the files, under its own account.
  chmodSync(folder, 0o777)
  const fileOf = (table: Table) => `'${join(folder, table)}'`
  const sources = new Map<Table, Source>()
  for (const table of tables) sources.set(table, await sourceOf(postgres, table, workspaceId))
  const [row] = await postgres.query(
    'select count(*)::int as keys from api_keys where workspace_id = $1 and imported_at is not null',
    [workspaceId],
  )
  let times = 0
  return {
    keys: Number(row?.keys),
    async renew() {
      times += 1
      for (const [table, { query }] of sources)
        await postgres.query(`copy (${query.replaceAll('$', String(times))}) to ${fileOf(table)}`)
    },
    async copy() {
      const copies = [...sources].map(
        ([table, { columns }]) => `copy ${table} (${columns}) from ${fileOf(table)}`,
      )
      // Several statements of one message are one transaction.
      await postgres.query(copies.join(';\n'))
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

interface Source {
  /** Those that Postgres does not compute, with commas between. */
  readonly columns: string
  /** The query for the rows of the first import, with their new ids. */
  readonly query: string
}

async function sourceOf({ query }: ScratchPostgres, table: Table, workspaceId: string): Promise<Source> {
  const columns = await query(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`,
    [table],
  )
  const names = columns.map(({ name }) => String(name))
  if (names.length === 0) throw new BenchFault(`${table} has no columns`)
  const values = names.map(name => newOnes[table][name] ?? name)
  await query(`create unlogged table bench_${table} as select * from ${table}
    where workspace_id = '${workspaceId}' and ${isImported[table]}`)
  return { columns: names.join(', '), query: `select ${values.join(', ')} from bench_${table}` }
}

const ofImport = (column: string) => `${column} in (select id from api_keys where imported_at is not null)`
const isImported: Readonly<Record<Table, string>> = {
  api_keys: 'imported_at is not null',
  credentials: ofImport('id'),
  policy_changes: ofImport('key_id'),
  audit_logs: ofImport('target_id'),
}
