import { readMigration } from './file.ts'
import { ownMigrations } from './migrate.ts'

/** What the migrations say about tables. No migration drops or renames a table, or turns its row-level security off again. */
export interface DeclaredTables {
  readonly all: ReadonlySet<string>
  /** The tables with row-level security. No migration forces it on the owner of the tables. */
  readonly secured: ReadonlySet<string>
}

export function readDeclaredTables(): DeclaredTables {
  const text = ownMigrations.names.map(name => readMigration(ownMigrations.directory, name).text).join('\n')
  const found = (pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, name = '']) => name))
  return {
    all: found(/^create (?:unlogged )?table (\w+)/gm),
    secured: found(/^alter table (\w+) enable row level security/gm),
  }
}
