import { escapeIdentifier } from 'pg'
import { leftOutOf } from './left-out.ts'
import { DumpRefused } from './refused.ts'

/**
 * The text inside a backup: a header line, then a section for each table, parents before children. A section is
 * a COPY statement, the rows in COPY's text format, and a line `\.`, which cannot be a row, because that format
 * escapes every backslash. It is text because COPY's binary form may change from one Postgres to the next.
 */
export const formatNumber = 1

export interface DumpTable {
  readonly name: string
  /** All columns except generated ones, which are computed again. */
  readonly columns: readonly string[]
  readonly rows: number
}

export interface DumpSequence {
  readonly name: string
  /** A decimal number, which may exceed 2^53. */
  readonly lastValue: string
  readonly isCalled: boolean
}

export interface DumpHeader {
  readonly format: typeof formatNumber
  /** The version of the Keyrail that wrote it. */
  readonly keyrail: string
  /** The version of the Postgres it comes from. */
  readonly postgres: string
  /** When the snapshot was taken, by that Postgres's clock; RFC 3339. */
  readonly takenAt: string
  /** The names of the database's migrations, in order; they define the schema of the rows. */
  readonly migrations: readonly string[]
  readonly tables: readonly DumpTable[]
  readonly sequences: readonly DumpSequence[]
}

const headerMark = '-- keyrail backup '

/** Names of tables and columns take a few KiB; a longer line is not a header. */
export const headerBytesMax = 16 * 1024 * 1024

export const endOfRows = '\\.\n'

export const renderHeader = (header: DumpHeader): string => `${headerMark}${JSON.stringify(header)}\n`

/** @throws {DumpRefused} if the line is not a header, or its format is unknown. */
export function parseHeader(line: string): DumpHeader {
  if (!line.startsWith(headerMark)) throw new DumpRefused('This is not a Keyrail backup.')
  const header = JSON.parse(line.slice(headerMark.length))
  if (header.format !== formatNumber) {
    throw new DumpRefused(
      `The backup is of format ${header.format}; this Keyrail reads format ${formatNumber}. ` +
        `It was written by Keyrail ${header.keyrail}: restore it with that version or a later one.`,
    )
  }
  return header
}

export const tableName = (name: string): string => `public.${escapeIdentifier(name)}`

const columnList = ({ columns }: Pick<DumpTable, 'columns'>) => columns.map(escapeIdentifier).join(', ')

/** The line before the rows of a table, which is also the statement that loads them. */
export const copyIn = (table: Pick<DumpTable, 'name' | 'columns'>): string =>
  `copy ${tableName(table.name)} (${columnList(table)}) from stdin;`

/** A query, because COPY of a table alone does not support partitioned ones. */
export function copyOut(table: Pick<DumpTable, 'name' | 'columns'>): string {
  const { columns, rows } = leftOutOf(table)
  const list = table.columns.map(name => {
    const type = columns[name]
    return type === undefined ? escapeIdentifier(name) : `null::${type} as ${escapeIdentifier(name)}`
  })
  return `copy (select ${list.join(', ')} from ${tableName(table.name)} where ${rows}) to stdout`
}

/** Counts rows in a piece of COPY's text format: each row ends with an unescaped line feed. */
export function countRows(piece: Buffer): number {
  let rows = 0
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows += 1
  return rows
}
