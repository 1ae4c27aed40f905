import type pg from 'pg'
import type { MigrationSet } from '../migrate/migrate.ts'
import { type DumpHeader, tableName } from './format.ts'
import { DumpRefused } from './refused.ts'

/** @throws {DumpRefused} unless our migrations begin with these. */
export function refuseUnknownSchema(header: DumpHeader, { names }: MigrationSet): void {
  const unknown = header.migrations.find((name, i) => name !== names[i])
  if (unknown === undefined) return
  throw new DumpRefused(
    `The backup has a schema that this Keyrail does not know (${unknown}); it was written by Keyrail ` +
      `${header.keyrail}. Install that version or a later one, and restore with it.`,
  )
}

/** @throws {DumpRefused} if this table has rows, because the database is then in use. */
export async function refuseUsed(client: pg.ClientBase, table: string): Promise<void> {
  const name = tableName(table)
  const { rows: found } = await client.query(`select to_regclass($1) is not null as there`, [name])
  if (!found[0].there) return
  // The lock keeps new rows out after the check.
  await client.query(`lock table ${name} in access exclusive mode`)
  const { rows } = await client.query(`select exists (select from ${name}) as used`)
  if (!rows[0].used) return
  throw new DumpRefused(
    'The database is not empty: it has workspaces. Restore into an empty one, or use --force to delete everything ' +
      'that Keyrail has in this one first.',
  )
}

/** @throws {DumpRefused} if a service or another command is connected. */
export async function refuseInUse(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(
    `select count(*)::int as others from pg_stat_activity
     where datname = current_database() and application_name like 'keyrail %' and pid <> pg_backend_pid()`,
  )
  if (rows[0].others === 0) return
  throw new DumpRefused(
    `Keyrail is running on this database (${rows[0].others} connections). Stop all its processes first. ` +
      '--force restores under a running service, which must be restarted afterwards.',
  )
}
