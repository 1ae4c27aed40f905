import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { isConnectionLost } from '../platform/db/errors.ts'
import { appliedMigrations, migrate, migrations } from '../platform/db/migrate.ts'
import { openDatabase, withClient } from './database.ts'
import { print, printJson, warn } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

export function addMigrateCommand(program: Command, settings: Settings): void {
  program
    .command('migrate')
    .summary('bring the database to the newest schema')
    .description(
      'Applies every migration that the database lacks, in order, each in its own transaction. Only one process\n' +
        'does so at a time; the others wait. keyrail serve does the same at its start, so this is for those who want\n' +
        'the schema in place before the new release.',
    )
    .option('--json', 'print {"applied": [names], "newest": name}')
    .addHelpText('after', '\nAn embedded database that does not exist yet is created.')
    .action(async ({ json }: { json?: true }) => {
      const config = settings.read()
      const { applied, known } = await bringUpToDate(config).catch(error => {
        // Beside another command on the embedded database: that one has ended, and stopped it under us.
        if (config.databaseUrl !== null || !isConnectionLost(error)) throw error
        return bringUpToDate(config)
      })
      if (json) printJson({ applied, newest: known.at(-1) ?? null })
      else for (const line of describe(applied)) print(line)
      warnOfNewer(known)
    })
}

async function bringUpToDate(config: Config) {
  const database = await withProgress('Opening the database', () => openDatabase(config))
  try {
    const applied = await withProgress('Applying migrations', () => migrate(database.direct))
    return { applied, known: await withClient(database.direct, appliedMigrations) }
  } finally {
    await database.close()
  }
}

const describe = (applied: readonly string[]) =>
  applied.length === 0 ? ['The schema is the newest already.'] : applied.map(name => `Applied ${name}`)

function warnOfNewer(known: readonly string[]): void {
  const newer = known.filter(name => !migrations.includes(name))
  if (newer.length > 0) warn(`A newer release has been here: it applied ${newer.join(', ')}.`)
}
