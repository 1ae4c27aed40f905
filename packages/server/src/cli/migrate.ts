import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { isConnectionLost } from '../platform/db/errors.ts'
import { patienceOf } from '../platform/db/migrate/lock-wait.ts'
import { appliedMigrations, migrate, migrations } from '../platform/db/migrate/migrate.ts'
import { openDatabase, withClient } from './database.ts'
import { inform, print, printJson, warn } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

export function addMigrateCommand(program: Command, settings: Settings): void {
  program
    .command('migrate')
    .summary('bring the database to the newest schema')
    .description(
      'Applies every missing migration in order. One process does so at a time, and the others wait. A migration that\n' +
        'does not get a lock tries again for 10 minutes (SERVICE_MIGRATE_WAIT_S), and says who holds it; requests go on\n' +
        'meanwhile. An interrupted run goes on where it stopped. keyrail serve does the same at its start: use this\n' +
        'command to update the schema before the new release starts.',
    )
    .option('--json', 'print {"applied": [names], "newest": name}')
    .addHelpText('after', '\nA missing embedded database is created.')
    .action(async ({ json }: { json?: true }) => {
      const config = settings.read()
      const { applied, known } = await bringUpToDate(config).catch(error => {
        // Another command on the embedded database has ended, and stopped Postgres under this one.
        if (config.databaseUrl !== null || !isConnectionLost(error)) throw error
        return bringUpToDate(config)
      })
      if (json) printJson({ applied, newest: known.at(-1) ?? null })
      else for (const line of describe(applied)) print(line)
      warnOfNewer(known)
    })
}

async function bringUpToDate(config: Config) {
  const database = await withProgress('Opening the database', () => openDatabase(config, { create: true }))
  try {
    const applied = await withProgress('Applying migrations', () =>
      migrate(database.direct, { onWait: inform, patience: patienceOf(config.migrateWaitS) }),
    )
    return { applied, known: await withClient(database.direct, appliedMigrations) }
  } finally {
    await database.close()
  }
}

const describe = (applied: readonly string[]) =>
  applied.length === 0 ? ['The schema is up to date.'] : applied.map(name => `Applied ${name}`)

function warnOfNewer(known: readonly string[]): void {
  const newer = known.filter(name => !migrations.includes(name))
  if (newer.length > 0) warn(`The database is from a newer release, which applied ${newer.join(', ')}.`)
}
