import type pg from 'pg'
import { type DeclaredTables, readDeclaredTables } from '../../platform/db/migrate/declared-tables.ts'
import {
  bypassFix,
  type FaultyTable,
  readAutovacuumFaults,
  readRowSecurityFaults,
  readTriggerFaults,
} from '../../platform/db/migrate/table-faults.ts'
import { type Check, orFault } from './check.ts'

/** Checks whether the tables still are what the migrations made of them. It reads the catalogue alone. */
export async function checkTables(client: pg.ClientBase): Promise<Check[]> {
  const declared = readDeclaredTables()
  return [
    await orFault('row security', () => checkRowSecurity(client, declared)),
    await orFault('triggers', () => checkTriggers(client, declared)),
    await orFault('autovacuum', () => checkAutovacuum(client, declared)),
  ]
}

/** Row-level security keeps workspaces apart where a statement forgets to. Forced, it hides rows from backups. */
async function checkRowSecurity(client: pg.ClientBase, { secured }: DeclaredTables): Promise<Check> {
  const name = 'row security'
  const { tables: odd, isBypassed } = await readRowSecurityFaults(client, [...secured])
  const fixes = [...(isBypassed ? [bypassFix] : []), ...odd.map(({ fix }) => fix)]
  if (fixes.length === 0)
    return { name, status: 'ok', message: `keeps workspaces apart in ${secured.size} tables` }
  const found = [
    ...(isBypassed ? ['keyrail_app bypasses it'] : []),
    ...(odd.length > 0 ? [`it was changed for ${namesOf(odd)}`] : []),
  ]
  return { name, status: 'fault', message: found.join('; '), todo: fixes.join('\n') }
}

/** Foreign keys are triggers too. */
async function checkTriggers(client: pg.ClientBase, { all }: DeclaredTables): Promise<Check> {
  const name = 'triggers'
  const lost = 'rows that refer to nothing, and changes of the audit log, are not refused'
  const { tables: off, isReplica } = await readTriggerFaults(client, [...all])
  if (isReplica)
    return {
      name,
      status: 'fault',
      message: `session_replication_role is replica: ${lost}`,
      todo: 'Reset session_replication_role for this role and database.',
    }
  if (off.length === 0) return { name, status: 'ok', message: 'foreign keys and other triggers are on' }
  const todo = `As a superuser, then look for rows that refer to nothing:\n${off.map(({ fix }) => fix).join('\n')}`
  return { name, status: 'fault', message: `off for ${namesOf(off)}: ${lost}`, todo }
}

/** Without it tables and indexes grow with every change, and plans go by old statistics. */
async function checkAutovacuum(client: pg.ClientBase, { all }: DeclaredTables): Promise<Check> {
  const name = 'autovacuum'
  const { tables: off, settings } = await readAutovacuumFaults(client, [...all])
  const grows = 'tables grow with every change'
  if (settings.length > 0) {
    return {
      name,
      status: 'warning',
      message: `${settings.join(' and ')} off: ${grows}`,
      todo: `Set ${settings.map(setting => `${setting} = on`).join(', ')} in Postgres.`,
    }
  }
  if (off.length === 0) return { name, status: 'ok', message: 'on for every table' }
  const todo = off.map(({ fix }) => fix).join('\n')
  return { name, status: 'warning', message: `off for ${namesOf(off)}: ${grows}`, todo }
}

const namesOf = (tables: readonly FaultyTable[]): string => tables.map(({ table }) => table).join(', ')
