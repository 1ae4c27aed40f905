/**
 * `keyrail backup` and `restore.ts`. `every.ts` repeats into a `folder.ts` with `figures.ts` for a monitor; `check.ts`
 * restores on trial into a `check-database.ts`. `copy-database.ts` opens what is copied, `copy-progress.ts` shows how
 * far.
 */

import { rmSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import type { Config } from '../../config.ts'
import { makeOwnKey } from '../../platform/db/dump/age.ts'
import { type Backup, backup } from '../../platform/db/dump/backup.ts'
import { encryptionKeyPath } from '../encryption-key.ts'
import { CommandFailed } from '../failure.ts'
import { inform, print, printJson } from '../output.ts'
import type { Settings } from '../settings.ts'
import { parseSpan } from '../spans.ts'
import { checkBeforeNaming, refuseUncheckable, uncheckedPath } from './check.ts'
import { withCopyDatabase } from './copy-database.ts'
import { type StepLabels, withCopyProgress } from './copy-progress.ts'
import { backupEvery } from './every.ts'

const labels: StepLabels = {
  count: total => `Counting the rows of ${total} tables`,
  verify: total => `Checking ${total} bytes, by a restore on trial`,
  copy: total => `Copying ${total} rows`,
}

interface Flags {
  force?: true
  json?: true
  recipient: string[]
  check?: true
  checkDatabase?: string
  every?: number
  keep?: number
  metricsFile?: string
  metricsPort?: number
}

export function addBackupCommand(program: Command, settings: Settings): void {
  program
    .command('backup')
    .summary('write all data to one file, while the service runs')
    .description(
      'Writes one consistent snapshot of the database to FILE: every workspace, key, audit row and sealed secret of the ' +
        'service. The service keeps running; a new release can migrate afterwards. The file can be restored ' +
        'into an embedded or an outside database, of the same or another version of Postgres.',
    )
    .argument('<FILE>', 'the file to write; - writes to standard output')
    .option('--recipient <key>', 'encrypt it for this public key of age; may be repeated', repeated, [])
    .option('--check', 'restore it into a scratch database, and undo that; --every always does')
    .option('--check-database <database>', 'a name or URL for that, in place of a new database')
    .option(
      '--every <time>',
      'FILE is a directory: make a backup this often (30m, 6h, 1d) until a signal',
      asSpan,
    )
    .option('--keep <count>', 'how many checked backups of --every to keep (default: 14)', asCount)
    .option('--metrics-file <file>', 'write the times of --every here, for a textfile collector')
    .option('--metrics-port <port>', 'serve them as /metrics on this port of SERVICE_HOST', asPort)
    .option('--force', 'overwrite FILE if it exists')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      '\nProtect the file as you protect the database: it has hashes of all credentials and addresses of people.\n' +
        'It has the secrets of the service sealed, without the key that opens them: keep that key elsewhere. Only its\n' +
        'owner can read the file (mode 0600). FILE appears once it is complete: until then it\n' +
        'is called FILE.partial, and with --check until it was restored on trial. If the check fails, it stays as\n' +
        'FILE.unchecked, which the next checked one removes.',
    )
    .action(async (file: string, flags: Flags) => {
      refuseUnfit(file, flags)
      const { every: everyMs, keep = keepDefault, metricsFile, metricsPort } = flags
      const { checkDatabase, recipient: recipients } = flags
      if (everyMs === undefined) return await backupOnce(file, settings.read(), flags)
      const schedule = { everyMs, keep, recipients, checkDatabase, metricsFile, metricsPort }
      return await backupEvery(file, settings.read(), schedule)
    })
}

const keepDefault = 14

/** @throws {CommandFailed} for flags that do not go together. */
function refuseUnfit(file: string, flags: Flags): void {
  const { every, recipient, keep, metricsFile, metricsPort, force, json, check, checkDatabase } = flags
  const fault =
    every === undefined
      ? (keep !== undefined && '--keep needs --every.') ||
        (metricsFile !== undefined && '--metrics-file needs --every.') ||
        (metricsPort !== undefined && '--metrics-port needs --every.') ||
        (file === '-' &&
          (check || checkDatabase !== undefined) &&
          'Standard output cannot be checked: give a file.') ||
        (file === '-' &&
          process.stdout.isTTY &&
          'A backup is binary: give a file, or redirect the output to one.')
      : (recipient.length === 0 &&
          '--every needs --recipient: backups that are left alone must be encrypted.') ||
        ((force || json) && '--every goes without --force and --json.')
  if (fault) throw new CommandFailed(fault)
}

async function backupOnce(file: string, config: Config, flags: Flags): Promise<void> {
  const { force = false, json = false, recipient: recipients, check, checkDatabase: given } = flags
  const toStdout = file === '-'
  const isChecked = check === true || given !== undefined
  const made = await withCopyDatabase(config, async database => {
    const place = { config, database, given }
    if (isChecked) await refuseUncheckable(place)
    // Opens the file for its check, and is forgotten then.
    const own = isChecked && recipients.length > 0 ? [await makeOwnKey(recipients)] : []
    const all = [...recipients, ...own.map(({ recipient }) => recipient)]
    const identities = own.map(({ identity }) => identity)
    const made = await withCopyProgress(labels, json, onProgress => {
      const check = async (partial: string, made: Backup) => {
        if (!isChecked) return
        onProgress({ step: 'verify', table: null, done: 0, total: made.bytes })
        await checkBeforeNaming(place, file, partial, made, identities)
      }
      const to = toStdout ? process.stdout : file
      return backup(database.direct, to, { onProgress, force, recipients: all, check })
    })
    if (isChecked) rmSync(uncheckedPath(file), { force: true })
    return made
  })
  const checked = isChecked ? ['It was restored on trial, from the file.'] : []
  if (!json) {
    for (const line of [describe(file, made), ...checked, keepKeyApart(config)])
      (toStdout ? inform : print)(line)
  } else if (toStdout) inform(JSON.stringify(summary(file, made, isChecked)))
  else printJson(summary(file, made, isChecked))
}

function asSpan(text: string): number {
  const ms = parseSpan(text)
  if (ms === null) throw new InvalidArgumentError('Give a time such as 30m, 6h or 1d, of 14 days at most.')
  return ms
}

function asCount(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Give a number from 1 on.')
  return Number(text)
}

function asPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('Give a port from 1 to 65535.')
  return port
}

/** An option that may be given more than once. */
const repeated = (value: string, before: string[]) => [...before, value]

const rowsOf = ({ header }: Backup) => header.tables.reduce((sum, { rows }) => sum + rows, 0)

const describe = (file: string, made: Backup) =>
  `Backed up ${rowsOf(made).toLocaleString('en')} rows of ${made.header.tables.length} tables to ` +
  `${file === '-' ? 'standard output' : file} (${made.bytes.toLocaleString('en')} bytes, SHA-256 ${made.sha256}).`

const keepKeyApart = ({ encryptionKeys, databaseUrl, dataDir }: Config) => {
  const isFile = databaseUrl === null && encryptionKeys.length === 0
  const key = isFile ? encryptionKeyPath(dataDir) : 'The key of SERVICE_ENCRYPTION_KEY'
  return `${key} is not in it. Keep a copy of it, apart from the backup.`
}

const summary = (file: string, made: Backup, isChecked: boolean) => ({
  file: file === '-' ? null : file,
  bytes: made.bytes,
  sha256: made.sha256,
  checked: isChecked,
  taken_at: made.header.takenAt,
  keyrail: made.header.keyrail,
  postgres: made.header.postgres,
  schema: made.header.migrations.at(-1),
  rows: rowsOf(made),
  tables: Object.fromEntries(made.header.tables.map(({ name, rows }) => [name, rows])),
})
