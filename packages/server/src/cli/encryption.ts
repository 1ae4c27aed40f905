import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { discardUnopened, queryOf } from '../platform/db/sealed/columns.ts'
import { resealAll } from '../platform/db/sealed/reseal.ts'
import { openSealedStore } from '../platform/db/sealed/store.ts'
import { type CommandDatabase, openDatabase, requireSchema, withClient } from './database.ts'
import { encryptionKeyPath, ensureKeys, requireKeys } from './encryption-key.ts'
import { inform, print, printJson, warn } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

interface Flags {
  discard?: true
  json?: true
}

export function addEncryptionCommand(program: Command, settings: Settings): void {
  const encryption = program
    .command('encryption')
    .summary('the key that seals secrets in the database')
    .description('The key that seals secrets in the database (SERVICE_ENCRYPTION_KEY).')
  encryption
    .command('rotate')
    .summary('reseal every secret with the first key')
    .description(
      'Opens every sealed secret with the key that sealed it, and reseals it with the first key. The service keeps\n' +
        'running. If interrupted, run it again: it continues where it stopped.',
    )
    .option('--discard', 'remove secrets that no given key opens; the service makes new ones')
    .option('--json', 'print {"sealed_by", "resealed", "unused", "discarded"}')
    .addHelpText(
      'after',
      '\nTo change the key without refusing a request:\n' +
        '  1. Add the new key behind the old one (old,new) and restart every process.\n' +
        '  2. Put the new key first (new,old) and restart every process.\n' +
        '  3. keyrail encryption rotate\n' +
        '  4. Remove the old key and restart every process. Keep it as long as backups that need it.',
    )
    .action(async ({ discard, json }: Flags) => {
      const config = settings.read()
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        const discarded = discard ? await discardLost(config, database) : []
        const done = { ...(await rotate(config, database)), discarded }
        if (json) printJson(done)
        else report(done, config)
      } finally {
        await database.close()
      }
    })
}

async function discardLost(config: Config, { direct }: CommandDatabase): Promise<string[]> {
  const { keys } = ensureKeys(config)
  return await withClient(direct, client =>
    discardUnopened(
      queryOf(client),
      keys.map(({ id }) => id),
    ),
  )
}

async function rotate(config: Config, { direct }: CommandDatabase) {
  const { keys } = await requireKeys(config, direct)
  const { sealing } = await openSealedStore(direct, { ...config, encryptionKeys: keys }, randomBytes)
  const resealed = await withProgress('Resealing secrets', () =>
    withClient(direct, client => resealAll(client, sealing, reportTable)),
  )
  const [first, ...others] = sealing.keyIds
  return { sealed_by: first ?? '', resealed, unused: others }
}

/** At a terminal the spinner moves instead. */
function reportTable(table: string, done: number): void {
  if (process.stderr.isTTY !== true) inform(`${table}: ${done} resealed`)
}

function report(
  done: Awaited<ReturnType<typeof rotate>> & { discarded: readonly string[] },
  { encryptionKeys, dataDir }: Config,
): void {
  for (const name of done.discarded) warn(`Removed ${name}, which no given key opens.`)
  if (done.discarded.length > 0) warn('Restart every process: the service makes new ones.')
  print(`Resealed ${done.resealed} secrets. All are sealed with key ${done.sealed_by}.`)
  if (done.unused.length === 0) return
  const place = encryptionKeys.length > 0 ? 'SERVICE_ENCRYPTION_KEY' : encryptionKeyPath(dataDir)
  print(
    `${done.unused.join(', ')} seals nothing any more: remove it from ${place} once every process has ${done.sealed_by} first,\n` +
      'and keep it as long as backups that need it.',
  )
}
