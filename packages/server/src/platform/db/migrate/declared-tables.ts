import { readMigration } from './file.ts'
import { ownMigrations } from './migrate.ts'

/** What the migrations say of tables. None of them drops or renames one, or turns its row-level security off again. */
export interface DeclaredTables {
  readonly all: ReadonlySet<string>
  /** Those with row-level security, which none forces on the owner of the tables. */
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
