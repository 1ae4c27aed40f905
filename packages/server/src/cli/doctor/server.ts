import type pg from 'pg'
import type { Config } from '../../config.ts'
import { mostProcesses, servicesFor } from '../../platform/db/pool/connection-need.ts'
import { type OutsideFacts, readOutsideFacts } from '../../platform/db/roles/outside-facts.ts'
import type { Check } from './check.ts'
import { checkSlots, judgeStandbys } from './standbys.ts'

/** Checks how an outside server and its login are set up. */
export async function checkOutside(
  client: pg.ClientBase,
  config: Pick<Config, 'databasePool' | 'processes' | 'isProcessesAuto'>,
): Promise<Check[]> {
  const found = await readOutsideFacts(client)
  return [
    judgeServer(found),
    judgeLogin(found),
    judgeDurability(found),
    ...judgeStandbys(found),
    ...(found.isStandby ? [] : await checkSlots(client)),
    judgeConnections(found, config),
  ]
}

function judgeServer({ isStandby, isReadOnly }: OutsideFacts): Check {
  const name = 'primary'
  if (isStandby)
    return {
      name,
      status: 'fault',
      message: 'the server is a standby, which takes no changes',
      todo: 'Let DATABASE_URL lead to the primary; /readyz is 503 until then.',
    }
  // Providers set it when a disk is nearly full.
  if (isReadOnly)
    return {
      name,
      status: 'fault',
      message: 'default_transaction_read_only is on: every change gets 503',
      todo: 'Make space if the disk is nearly full, then set it off, for this role and database too.',
    }
  return { name, status: 'ok', message: 'the server takes changes' }
}

const judgeLogin = ({ isSuperuser, user }: OutsideFacts): Check =>
  isSuperuser
    ? {
        name: 'login',
        status: 'warning',
        message: `${user} is a superuser or bypasses row-level security: its password opens the whole server`,
        todo: 'Use a login without these rights: keyrail roles prints the SQL.',
      }
    : { name: 'login', status: 'ok', message: `${user} is no superuser` }

function judgeDurability({ synchronousCommit, fsync, fullPageWrites }: OutsideFacts): Check {
  const name = 'durability'
  const off = [
    ['synchronous_commit', synchronousCommit],
    ['fsync', fsync],
    ['full_page_writes', fullPageWrites],
  ].flatMap(([setting, value]) => (value === 'off' ? [setting] : []))
  if (off.length === 0) return { name, status: 'ok', message: 'a confirmed change is on the disk' }
  return {
    name,
    status: 'fault',
    message: `${off.join(' and ')} off: a crash loses changes that were confirmed, such as a revocation`,
    todo: `Set ${off.map(setting => `${setting} = on`).join(', ')} in Postgres, for this role and database too.`,
  }
}

function judgeConnections(
  { free }: OutsideFacts,
  {
    databasePool,
    processes: wanted,
    isProcessesAuto,
  }: Pick<Config, 'databasePool' | 'processes' | 'isProcessesAuto'>,
): Check {
  const name = 'connections'
  const processes = isProcessesAuto ? mostProcesses(free, { databasePool, processes: wanted }) : wanted
  const { need, fits } = servicesFor(free, { databasePool, processes })
  const who = processes === 1 ? 'a process opens' : `${processes} processes open`
  const message = `${who} up to ${need}, and ${free} are free: enough for ${fits}`
  if (fits >= 2) return { name, status: 'ok', message }
  return {
    name,
    status: fits === 0 ? 'fault' : 'warning',
    message: fits === 0 ? message : `${message}, and none to replace it without a gap`,
    todo: `Raise max_connections or the limit of the role or database, or lower ${processes === 1 ? 'SERVICE_DATABASE_POOL' : 'SERVICE_PROCESSES'}.`,
  }
}
