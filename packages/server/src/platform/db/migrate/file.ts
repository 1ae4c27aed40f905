import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A migration, with what its file says about how to run it. */
export interface MigrationFile {
  /**
   * `expand`: the previous release runs on the new schema. `contract`: removes what no running release uses. Null for the first
   * migrations, which have no such line; all of them expand.
   */
  readonly kind: 'expand' | 'contract' | null
  /** Each statement commits by itself, so that no statement waits while an earlier one holds its lock. */
  readonly isOutside: boolean
  readonly text: string
  /** Empty unless `isOutside`. */
  readonly statements: readonly string[]
}

const head = /^-- (expand|contract)(, outside a transaction)?\n/

export function readMigration(directory: string, name: string): MigrationFile {
  const text = readFileSync(join(directory, `${name}.sql`), 'utf8')
  const [, kind = null, outside] = head.exec(text) ?? []
  const isOutside = outside !== undefined
  return { kind: kind as MigrationFile['kind'], isOutside, text, statements: isOutside ? split(text) : [] }
}

/** A test makes sure that no statement here has a semicolon inside. */
const split = (text: string): string[] =>
  text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(statement => statement.trim())
    .filter(statement => statement !== '')

/** The text for one transaction around all migrations, on tables that no other session sees. */
export const withinTransaction = (text: string): string => text.replaceAll(/\bindex concurrently\b/g, 'index')

const made = /^create (?:unique )?index concurrently if not exists (\w+)/

/** The indexes that a migration outside a transaction builds. */
export const indexesOf = ({ statements }: MigrationFile): string[] =>
  statements.flatMap(statement => made.exec(statement)?.[1] ?? [])
