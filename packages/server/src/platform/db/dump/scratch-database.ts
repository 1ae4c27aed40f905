import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { DumpRefused } from './refused.ts'

/** Marks a database of ours, so that a database of another owner with the same name is never dropped. */
const mark = 'made by keyrail backup, to check a backup; it may be dropped'
/** One check at a time on a server; other checks wait. The number of the lock is arbitrary. */
const checkLock = 8_217_301_144
/** Postgres cuts names after 63 bytes. */
const sourceNameMax = 48

/**
 * Makes an empty database beside the client's database for some work, and drops it afterwards.
 * @param beside the name of the client's database.
 * @throws {DumpRefused} if the login may not create one, or a database with the same name has another purpose.
 */
export async function withScratchDatabase<T>(
  client: pg.Client,
  beside: string,
  work: (name: string) => Promise<T>,
): Promise<T> {
  const name = `${beside.slice(0, sourceNameMax)}_backup_check`
  await refuseWithoutRight(client)
  await client.query('set statement_timeout = 0')
  // Tried repeatedly: a statement that waited for the lock would keep a snapshot, and so hold up the index of a migration.
  while (!(await takesLock(client))) await sleep(1000)
  await dropOurs(client, name)
  // With the settings of the service's database, whatever the default of the server is.
  const { rows } = await client.query(
    `select format('create database %I template template0 encoding %L lc_collate %L lc_ctype %L', $1::text,
       pg_encoding_to_char(encoding), datcollate, datctype) as make, format('comment on database %I is %L', $1, $2::text) as mark
     from pg_database where datname = current_database()`,
    [name, mark],
  )
  await client.query(rows[0].make)
  try {
    await client.query(rows[0].mark)
    return await work(name)
  } finally {
    await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  }
}

async function takesLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1) as is_ours', [checkLock])
  return rows[0].is_ours
}

/** @throws {DumpRefused} with the statement that gives the right. */
async function refuseWithoutRight(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    'select rolcreatedb or rolsuper as may, quote_ident(rolname) as login from pg_roles where rolname = current_user',
  )
  const [{ may, login }] = rows
  if (may) return
  throw new DumpRefused(
    `Each backup is checked in a scratch database, and the login ${login} may not create one. Have an operator run ` +
      `"alter role ${login} createdb", or give an empty database with --check-database.`,
  )
}

/**
 * A killed check leaves its database behind, without rows.
 * @throws {DumpRefused} if the database with that name has another owner.
 */
async function dropOurs(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query(
    `select shobj_description(oid, 'pg_database') = $2 as ours from pg_database where datname = $1`,
    [name, mark],
  )
  if (rows.length === 0) return
  if (!rows[0].ours) {
    throw new DumpRefused(
      `There is a database "${name}", which this command did not make. If it is not needed, drop it; ` +
        'otherwise give another one with --check-database.',
    )
  }
  await client.query(`drop database ${pg.escapeIdentifier(name)} with (force)`)
}

/** Ends the sessions that restore into the database. */
export async function endRestores(client: pg.Client, name: string): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = $1 and application_name = 'keyrail restore' and pid <> pg_backend_pid()`,
    [name],
  )
}
