import type pg from 'pg'
import { systemClock } from '../platform/clock.ts'
import { appliedMigrations, migrations } from '../platform/db/migrate.ts'
import { rolesReady, rolesSql } from '../platform/db/roles.ts'
import { readServerFacts, type ServerFacts } from '../platform/db/server-facts.ts'
import { type CommandDatabase, withClient } from './database.ts'
import type { Check } from './doctor-check.ts'
import { checkMailQueue } from './doctor-mail.ts'
import { explain } from './failure.ts'

/** Past this, times in answers and in the database tell different stories. */
const clockToleranceMs = 5_000

const kinds = {
  outside: 'of DATABASE_URL',
  running: 'embedded, under a running service',
  started: 'embedded, started for this look',
}

/** The server answered, and is new enough: otherwise there would be no database to look at. */
export function checkServer({ kind, facts }: CommandDatabase): Check {
  return { name: 'database', status: 'ok', message: `Postgres ${facts.version}, ${kinds[kind]}` }
}

export function checkStore({ direct }: CommandDatabase): Promise<Check[]> {
  return withClient(direct, async client => {
    const asked = systemClock.now()
    const facts = await readServerFacts(client)
    // The server has read its clock about half-way.
    const now = (asked + systemClock.now()) / 2
    return [
      await orFault('roles', () => checkRoles(client, facts)),
      await orFault('migrations', async () => judgeMigrations(await appliedMigrations(client))),
      await orFault('mail queue', () => checkMailQueue(client)),
      judgeClock(facts.clock.getTime() - now),
    ]
  })
}

/** A database that does not let us look is a fault too, not the end of the looking. */
const orFault = (name: string, check: () => Promise<Check>): Promise<Check> =>
  check().catch(error => ({ name, status: 'fault', message: explain(error) }))

async function checkRoles(client: pg.ClientBase, { user, mayCreateRoles }: ServerFacts): Promise<Check> {
  const name = 'roles'
  if (await rolesReady(client)) {
    return { name, status: 'ok', message: `${user} may become keyrail_app` }
  }
  if (mayCreateRoles) {
    const message = 'keyrail_app is missing'
    return { name, status: 'warning', message, todo: 'keyrail migrate (or npm start) creates it.' }
  }
  return {
    name,
    status: 'fault',
    message: `${user} cannot become keyrail_app, and may not create roles`,
    todo: `let an operator run once:\n${rolesSql(user)}`,
  }
}

/** @param applied names of the migrations that the database has. */
export function judgeMigrations(applied: readonly string[]): Check {
  const name = 'migrations'
  const missing = migrations.filter(one => !applied.includes(one))
  if (missing.length > 0) {
    return { name, status: 'fault', message: `missing: ${missing.join(', ')}`, todo: 'keyrail migrate' }
  }
  const newer = applied.filter(one => !migrations.includes(one))
  if (newer.length === 0) return { name, status: 'ok', message: `all ${migrations.length} are applied` }
  return {
    name,
    status: 'warning',
    message: `the database is newer than this release: ${newer.join(', ')}`,
    todo: 'Start the newer release here too; two releases side by side are for the time of an upgrade.',
  }
}

/** @param aheadMs by how much the database's clock is ahead of ours. */
export function judgeClock(aheadMs: number): Check {
  const message = `the database's clock is ${Math.abs(aheadMs / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`
  if (Math.abs(aheadMs) <= clockToleranceMs) return { name: 'clock', status: 'ok', message }
  return { name: 'clock', status: 'warning', message, todo: 'Let both machines keep time by NTP.' }
}
