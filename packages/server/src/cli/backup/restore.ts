import type { Command } from 'commander'
import { readIdentities } from '../../platform/db/dump/age.ts'
import type { Restore } from '../../platform/db/dump/restore.ts'
import { restore } from '../../restore.ts'
import type { CommandDatabase } from '../database.ts'
import { givenKeys } from '../encryption-key.ts'
import { CommandFailed } from '../failure.ts'
import { inform, print, printJson, warn } from '../output.ts'
import type { Settings } from '../settings.ts'
import { withCopyDatabase } from './copy-database.ts'
import { type StepLabels, withCopyProgress } from './copy-progress.ts'

const labels: StepLabels = {
  count: total => `Counting the rows of ${total} tables`,
  verify: total => `Verifying ${total} bytes`,
  copy: total => `Restoring ${total} rows`,
}

interface Flags {
  force?: true
  json?: true
  identity?: string
}

export function addRestoreCommand(program: Command, settings: Settings): void {
  program
    .command('restore')
    .summary('load a backup into an empty database')
    .description(
      'Loads a file of keyrail backup, all of it or nothing: it verifies the whole file first, and ' +
        'if anything fails later, the database stays as it was. A backup of an older schema is migrated to ' +
        'the newest. Stop the service first, and start it afterwards.',
    )
    .argument('<FILE>', 'the backup')
    .option('--identity <file>', 'the identity of age that opens an encrypted backup')
    .option('--force', 'delete what Keyrail has in the database first, and go on though the service runs')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      "\nEvery project's policy version and its floor are raised, so that nodes that have later\n" +
        'changes load a new snapshot. Keys and secret keys of the backup work as before; anything created or\n' +
        'revoked after it is lost. Give the encryption key that the backed-up service had; without it, the secrets\n' +
        'that it sealed are lost and made again. Keys that sign embed tokens always are, and all people sign in again.',
    )
    .action(async (file: string, { force, json, identity }: Flags) => {
      const config = settings.read()
      const keyIds = givenKeys(config).keys.map(({ id }) => id)
      const work = ({ direct, kind }: CommandDatabase) => {
        // An idle service holds the embedded database without a connection.
        if (kind === 'running' && !force) {
          throw new CommandFailed('Keyrail is running on this database. Stop it first, or use --force.')
        }
        return withCopyProgress(labels, json === true, async onProgress => {
          const identities = identity === undefined ? [] : await readIdentities(identity)
          return await restore(direct, file, { onProgress, force: force === true, keyIds, identities })
        })
      }
      const restored = await withCopyDatabase(config, work, { create: true })
      for (const name of restored.passedOver) warn(`Skipped the table ${name}, which is not Keyrail's.`)
      reportLost(restored, keyIds)
      if (force) warn('Restart every Keyrail process that ran meanwhile.')
      if (json) printJson(summary(file, restored))
      else for (const line of describe(restored)) print(line)
    })
}

const rowsOf = ({ header, passedOver }: Restore) =>
  header.tables.reduce((sum, { name, rows }) => sum + (passedOver.includes(name) ? 0 : rows), 0)

function describe(restored: Restore): string[] {
  const { header, migrated, projectsRaised } = restored
  return [
    `Restored ${rowsOf(restored).toLocaleString('en')} rows, taken at ${header.takenAt} by Keyrail ${header.keyrail}.`,
    ...(migrated.length > 0 ? [`Migrated to the newest schema: applied ${migrated.join(', ')}.`] : []),
    `Raised the policy version of ${projectsRaised.toLocaleString('en')} projects.`,
  ]
}

/** The secrets that the service makes again, by row, and what their loss means. */
const losses: Record<string, string> = {
  'service_secrets cursor': 'cursors of lists that clients are paging through',
  'service_secrets audit_checkpoint':
    'the key that signs checkpoints; old checkpoints verify with the key that was published then',
}

function reportLost({ secretsLost }: Restore, keyIds: readonly string[]): void {
  if (secretsLost.length === 0) return
  const given = keyIds.length === 0 ? 'no encryption key is given' : `given is ${keyIds.join(', ')}`
  warn(
    `These secrets are sealed with a key that is not given (${given}), and are lost. The service makes new ones:`,
  )
  for (const name of secretsLost) inform(`  ${name}${name in losses ? `: ${losses[name]}` : ''}`)
  inform('If you still have that key, add it to SERVICE_ENCRYPTION_KEY and restore again with --force.')
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
  secrets_lost: restored.secretsLost,
})
