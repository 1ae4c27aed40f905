/**
 * `keyrail doctor`. Each file has one `check.ts`: `address.ts`, `certificate.ts`, `dashboard.ts`, `database.ts`
 * (`hosts.ts`, `server.ts`, `rights.ts`, `tables.ts`, `standbys.ts`), `directory.ts`, `encryption.ts`, `mail.ts`,
 * `process.ts`, `proxies.ts`, `redis.ts`, `sign-up.ts`.
 */

import type { Command } from 'commander'
import { systemClock } from '../../platform/clock.ts'
import { findPlace } from '../../platform/db/embedded/directory.ts'
import { type CommandDatabase, openDatabase } from '../database.ts'
import { explain } from '../failure.ts'
import { paint, print, printJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import type { Settings } from '../settings.ts'
import { checkDrain, checkMetrics, checkPublicUrl } from './address.ts'
import { checkCertificate } from './certificate.ts'
import { type Check, orFault, worst } from './check.ts'
import { checkDashboard } from './dashboard.ts'
import { checkPooler, checkServer, checkStore } from './database.ts'
import { checkBootstrapToken, checkDataDirectory, checkSecretFiles } from './directory.ts'
import { checkEncryptionKey, checkSealed } from './encryption.ts'
import { checkHosts } from './hosts.ts'
import { checkMail } from './mail.ts'
import { checkProcess, checkProcesses } from './process.ts'
import { checkProxies } from './proxies.ts'
import { checkRedis } from './redis.ts'
import { checkSignUp } from './sign-up.ts'

export function addDoctorCommand(program: Command, settings: Settings): void {
  program
    .command('doctor')
    .summary('check this installation for problems')
    .description(
      'Checks configuration, process, data directory, bootstrap token, encryption key, sign-up, certificate, public URL,\n' +
        'proxies, metrics, drain, dashboard, Redis, mail, database, roles, migrations, row-level security, triggers, autovacuum,\n' +
        'mail queue, clock and sealed secrets; of a database of DATABASE_URL also poolers, the login, durability, standbys,\n' +
        'replication slots and connections. Every line is ok, a warning or a fault, with what to do. It changes nothing.',
    )
    .option('--json', 'print {"status", "checks": [{"name", "status", "message", "todo"}]}')
    .addHelpText(
      'after',
      '\nIf no service runs, the embedded database is started for the checks.\nExit code 1 if there is a fault.',
    )
    .action(async ({ json }: { json?: true }) => {
      const checks = await examine(settings)
      if (json) printJson({ status: worst(checks), checks })
      else for (const check of checks) print(lineOf(check))
      if (worst(checks) === 'fault') process.exitCode = 1
    })
}

/** Runs every check that is possible, and leaves out those that depend on a failed one. */
async function examine(settings: Settings): Promise<Check[]> {
  const { config, faults, warnings } = settings.inspect()
  const checks: Check[] = [
    ...faults.map(message => ({ name: 'configuration', status: 'fault' as const, message })),
    ...warnings.map(message => ({ name: 'configuration', status: 'warning' as const, message })),
  ]
  if (checks.length === 0)
    checks.push({ name: 'configuration', status: 'ok', message: 'every setting is usable' })
  if (config === null) return checks
  checks.push(
    checkProcess(config),
    ...checkProcesses(config),
    ...checkDataDirectory(config),
    ...checkSecretFiles(settings.secretFiles()),
    checkBootstrapToken(config),
    checkEncryptionKey(config),
    checkSignUp(config),
    ...checkCertificate(config, systemClock.now()),
    ...checkPublicUrl(config),
    ...checkProxies(config),
    ...checkMetrics(config),
    ...checkDrain(config),
    await orFault('dashboard', () => checkDashboard(config)),
    ...(await checkRedis(config)),
    await checkMail(config),
  )
  let database: CommandDatabase
  try {
    if (config.databaseUrl === null && findPlace(config.dataDir) === undefined) {
      const message = 'the embedded database does not exist yet'
      return [...checks, { name: 'database', status: 'warning', message, todo: 'npm start creates it.' }]
    }
    database = await withProgress('Opening the database', () => openDatabase(config))
  } catch (error) {
    return [...checks, { name: 'database', status: 'fault', message: explain(error) }]
  }
  try {
    return [
      ...checks,
      checkServer(database),
      ...(await checkHosts(config)),
      ...(await checkPooler(database)),
      ...(await checkStore(config, database)),
      await checkSealed(config, database),
    ]
  } finally {
    await database.close()
  }
}

const colours = { ok: 'green', warning: 'yellow', fault: 'red' } as const
const indent = ' '.repeat(26)

function lineOf({ name, status, message, todo }: Check): string {
  const head = `${paint(colours[status], status.padEnd(9))}${name.padEnd(17)}`
  const rest = [message, ...(todo === undefined ? [] : [`To do: ${todo}`])].join('\n')
  return head + rest.replaceAll('\n', `\n${indent}`)
}
