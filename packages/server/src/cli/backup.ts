import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { type Backup, backup } from '../platform/db/dump/backup.ts'
import { withCopyDatabase } from './copy-database.ts'
import { type StepLabels, withCopyProgress } from './copy-progress.ts'
import { encryptionKeyPath } from './encryption-key.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson, tell } from './output.ts'
import type { Settings } from './settings.ts'

const labels: StepLabels = {
  count: total => `Counting the rows of ${total} tables`,
  verify: total => `Verifying ${total} bytes`,
  copy: total => `Copying ${total} rows`,
}

interface Flags {
  force?: true
  json?: true
}

export function addBackupCommand(program: Command, settings: Settings): void {
  program
    .command('backup')
    .summary('write all data to one file, while the service runs')
    .description(
      'Writes one consistent snapshot of the database to FILE: every workspace, key, audit row and sealed secret of the ' +
        'service. Requests are served meanwhile; a new release can migrate when it is done. The file can be restored ' +
        'into an embedded or an outside database, of the same or another version of Postgres.',
    )
    .argument('<FILE>', 'where to; - writes to standard output')
    .option('--force', 'write over FILE if it is there')
    .option('--json', 'print what was backed up as JSON')
    .addHelpText(
      'after',
      '\nKeep the file as you would keep the database: it holds hashes of all credentials and addresses of people.\n' +
        'Secrets of the service are in it sealed, and the key that opens them is not: keep that one elsewhere. The\n' +
        'file is made readable by its owner alone (mode 0600), and it is there only when it is whole: until then it\n' +
        'is called FILE.partial.',
    )
    .action(async (file: string, { force, json }: Flags) => {
      const toStdout = file === '-'
      if (toStdout && process.stdout.isTTY === true) {
        throw new CommandFailed('A backup is not for a terminal: give a file, or send the output to one.')
      }
      const config = settings.read()
      const made = await withCopyDatabase(config, ({ direct }) =>
        withCopyProgress(labels, json === true, onProgress =>
          backup(direct, toStdout ? process.stdout : file, { onProgress, force: force === true }),
        ),
      )
      if (!json) {
        for (const line of [describe(file, made), keepKeyApart(config)]) (toStdout ? tell : print)(line)
      } else if (toStdout) tell(JSON.stringify(summary(file, made)))
      else printJson(summary(file, made))
    })
}

const rowsOf = ({ header }: Backup) => header.tables.reduce((sum, { rows }) => sum + rows, 0)

const describe = (file: string, made: Backup) =>
  `Backed up ${rowsOf(made).toLocaleString('en')} rows of ${made.header.tables.length} tables to ` +
  `${file === '-' ? 'standard output' : file} (${made.bytes.toLocaleString('en')} bytes, SHA-256 ${made.sha256}).`

const keepKeyApart = ({ encryptionKeys, databaseUrl, dataDir }: Config) => {
  const isFile = databaseUrl === null && encryptionKeys.length === 0
  const key = isFile ? encryptionKeyPath(dataDir) : 'The key of SERVICE_ENCRYPTION_KEY'
  return `${key} is not in it. Keep a copy of it, in another place than the backup.`
}

const summary = (file: string, made: Backup) => ({
  file: file === '-' ? null : file,
  bytes: made.bytes,
  sha256: made.sha256,
  taken_at: made.header.takenAt,
  keyrail: made.header.keyrail,
  postgres: made.header.postgres,
  schema: made.header.migrations.at(-1),
  rows: rowsOf(made),
  tables: Object.fromEntries(made.header.tables.map(({ name, rows }) => [name, rows])),
})
