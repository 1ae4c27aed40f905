import type pg from 'pg'
import type { Config } from '../../config.ts'
import { systemClock } from '../../platform/clock.ts'
import { appliedMigrations, migrations } from '../../platform/db/migrate/migrate.ts'
import { rolesReady, rolesSql } from '../../platform/db/roles/roles.ts'
import { readServerFacts, type ServerFacts } from '../../platform/db/roles/server-facts.ts'
import { foreignOwner } from '../../platform/db/roles/service-rights.ts'
import { type CommandDatabase, withClient } from '../database.ts'
import { findTransactionPooler, poolerTodo } from '../serve/pooler.ts'
import { type Check, orFault } from './check.ts'
import { checkMailQueue } from './mail.ts'
import { checkMigrationRights } from './rights.ts'
import { checkOutside } from './server.ts'
import { checkTables } from './tables.ts'

/** Beyond this, times in responses and in the database contradict each other. */
const clockToleranceMs = 5_000

const kinds = {
  outside: 'of DATABASE_URL',
  running: 'embedded, under a running service',
  started: 'embedded, started for this check',
}

/** Only called for a server that answered and is new enough. */
export function checkServer({ kind, facts }: CommandDatabase): Check {
  return { name: 'database', status: 'ok', message: `Postgres ${facts.version}, ${kinds[kind]}` }
}

/** Checks whether DATABASE_URL leads through a pooler that Keyrail cannot use. */
export async function checkPooler(database: CommandDatabase): Promise<Check[]> {
  const found = await findTransactionPooler(database)
  return found === null ? [] : [{ name: 'pooler', status: 'fault', message: found, todo: poolerTodo }]
}

export function checkStore(config: Config, { kind, direct }: CommandDatabase): Promise<Check[]> {
  return withClient(direct, async client => {
    const asked = systemClock.now()
    const facts = await readServerFacts(client)
    // The server reads its clock about half-way through the query.
    const now = (asked + systemClock.now()) / 2
    const applied: string[] = await appliedMigrations(client).catch(() => [])
    const isBehind = migrations.some(one => !applied.includes(one))
    return [
      ...(kind === 'outside' ? await checkOutside(client, config) : []),
      ...(isBehind ? await checkMigrationRights(client) : []),
      await orFault('roles', () => checkRoles(client, facts, kind)),
      await orFault('migrations', async () => judgeMigrations(await appliedMigrations(client))),
      ...(await checkTables(client)),
      await orFault('mail queue', () => checkMailQueue(client)),
      judgeClock(facts.clock.getTime() - now),
    ]
  })
}

/** A login that owns the tables can rewrite the audit log. */
async function judgeOwner(
  client: pg.ClientBase,
  user: string,
  kind: CommandDatabase['kind'],
): Promise<Check> {
  const name = 'roles'
  const owner = await foreignOwner(client)
  if (owner !== null)
    return { name, status: 'ok', message: `${user} may become keyrail_app, and does not own the tables` }
  const message = `${user} may become keyrail_app, and owns the tables`
  if (kind !== 'outside') return { name, status: 'ok', message }
  return {
    name,
    status: 'warning',
    message: `${message}: its password is enough to rewrite the audit log`,
    todo: 'keyrail roles prints the SQL for a login that serves without owning them.',
  }
}

async function checkRoles(
  client: pg.ClientBase,
  { user, mayCreateRoles }: ServerFacts,
  kind: CommandDatabase['kind'],
): Promise<Check> {
  const name = 'roles'
  if (await rolesReady(client)) return await judgeOwner(client, user, kind)
  if (mayCreateRoles) {
    const message = 'keyrail_app is missing'
    return { name, status: 'warning', message, todo: 'keyrail migrate (or npm start) creates it.' }
  }
  return {
    name,
    status: 'fault',
    message: `${user} cannot become keyrail_app, and may not create roles`,
    todo: `have an operator run this once:\n${rolesSql(user)}`,
  }
}

/** @param applied the names of the migrations that the database has. */
function judgeMigrations(applied: readonly string[]): Check {
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
    todo: 'Start the newer release here too; two releases should run side by side only during an upgrade.',
  }
}

/** @param aheadMs how far the database's clock is ahead of ours. */
function judgeClock(aheadMs: number): Check {
  const message = `the database's clock is ${Math.abs(aheadMs / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`
  if (Math.abs(aheadMs) <= clockToleranceMs) return { name: 'clock', status: 'ok', message }
  return { name: 'clock', status: 'warning', message, todo: 'Synchronise both machines with NTP.' }
}
