import type { Command } from 'commander'
import { type Restore, restore } from '../platform/db/dump/restore.ts'
import { versionsRaisedBy } from '../platform/db/timeline.ts'
import { withCopyDatabase } from './copy-database.ts'
import { type StepLabels, withCopyProgress } from './copy-progress.ts'
import { givenKeys } from './encryption-key.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson, tell, warn } from './output.ts'
import type { Settings } from './settings.ts'

const labels: StepLabels = {
  count: total => `Counting the rows of ${total} tables`,
  verify: total => `Verifying ${total} bytes`,
  copy: total => `Restoring ${total} rows`,
}

interface Flags {
  force?: true
  json?: true
}

export function addRestoreCommand(program: Command, settings: Settings): void {
  program
    .command('restore')
    .summary('load a backup into an empty database')
    .description(
      'Loads what keyrail backup wrote, all of it or nothing: the file is verified to its last byte first, and ' +
        'should anything go wrong later, the database stays as it was. A backup of an older schema is brought to ' +
        'the newest. Stop the service first, and start it afterwards.',
    )
    .argument('<FILE>', 'the backup')
    .option('--force', 'delete what Keyrail has in the database first, and go on though the service runs')
    .option('--json', 'print what was restored as JSON')
    .addHelpText(
      'after',
      `\nEvery project's policy version and its floor are raised by ${versionsRaisedBy} or more, so that nodes which saw changes\n` +
        'made after the backup fetch everything anew. Keys and secret keys of the backup work as they did; what was\n' +
        'created or revoked after it was taken is not known any more. Give the encryption key that the backed-up service\n' +
        'had; secrets that it alone opens are lost without it, and made anew. Keys that sign embed tokens always are.',
    )
    .action(async (file: string, { force, json }: Flags) => {
      const config = settings.read()
      const keyIds = givenKeys(config).keys.map(({ id }) => id)
      const restored = await withCopyDatabase(config, ({ direct, kind }) => {
        // A service that nobody has asked anything yet holds the embedded database without a connection.
        if (kind === 'running' && !force) {
          throw new CommandFailed('Keyrail is running on this database. Stop it first, or give --force.')
        }
        return withCopyProgress(labels, json === true, onProgress =>
          restore(direct, file, { onProgress, force: force === true, keyIds }),
        )
      })
      for (const name of restored.passedOver) warn(`The table ${name} is not Keyrail's and was passed over.`)
      tellOfLost(restored, keyIds)
      if (force) warn('Start every process of Keyrail again that ran meanwhile.')
      if (json) printJson(summary(file, restored))
      else for (const line of describe(restored)) print(line)
    })
}

const rowsOf = ({ header, passedOver }: Restore) =>
  header.tables.reduce((sum, { name, rows }) => sum + (passedOver.includes(name) ? 0 : rows), 0)

function describe(restored: Restore): string[] {
  const { header, migrated, projectsRaised, versionsRaised } = restored
  return [
    `Restored ${rowsOf(restored).toLocaleString('en')} rows, taken at ${header.takenAt} by Keyrail ${header.keyrail}.`,
    ...(migrated.length > 0 ? [`Brought to the newest schema: applied ${migrated.join(', ')}.`] : []),
    `Raised the policy version of ${projectsRaised} projects by ${versionsRaised}.`,
  ]
}

/** What the service makes anew, by its row, and what that means. */
const losses: Record<string, string> = {
  'service_secrets cursor': 'cursors of lists that somebody is paging through',
  'service_secrets audit_checkpoint':
    'the key that signs checkpoints; old ones verify with the verifier key that was published then',
}

function tellOfLost({ secretsLost }: Restore, keyIds: readonly string[]): void {
  if (secretsLost.length === 0) return
  const given = keyIds.length === 0 ? 'no encryption key is given' : `given is ${keyIds.join(', ')}`
  warn(
    `These secrets are sealed by a key that is not given (${given}), and are lost. The service makes new ones:`,
  )
  for (const name of secretsLost) tell(`  ${name}${name in losses ? `: ${losses[name]}` : ''}`)
  tell('If you still have that key, give it by SERVICE_ENCRYPTION_KEY and restore again with --force.')
}

const summary = (file: string, restored: Restore) => ({
  file,
  taken_at: restored.header.takenAt,
  keyrail: restored.header.keyrail,
  postgres: restored.header.postgres,
  rows: rowsOf(restored),
  migrated: restored.migrated,
  passed_over: restored.passedOver,
  projects_raised: restored.projectsRaised,
  versions_raised: restored.versionsRaised,
  secrets_lost: restored.secretsLost,
})
