import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { makeSigningKey } from '../platform/crypto/signing-keys.ts'
import { addSigningKey, keptAfterS, publishedBeforeS } from '../platform/db/sealed/signing-keys.ts'
import { openSealedStore } from '../platform/db/sealed/store.ts'
import { openDatabase, requireSchema } from './database.ts'
import { requireKeys } from './encryption-key.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

interface Flags {
  json?: true
}

export function addSigningKeyCommand(program: Command, settings: Settings): void {
  const signingKey = program
    .command('signing-key')
    .summary('keys that sign embed tokens')
    .description(
      'Keys that sign embed tokens. The service makes the first itself, and a new one every 30 days.',
    )
  signingKey
    .command('rotate')
    .summary('make a new key and switch to it')
    .description(
      `Makes a new key. It is published at once, and signs after ${publishedBeforeS / 60} minutes, when every process and every cache\n` +
        `has it. The previous key verifies for ${keptAfterS / 60} minutes more. No token stops working, and nothing needs a restart.`,
    )
    .option('--json', 'print {"kid", "signs_from"}')
    .action(async ({ json }: Flags) => {
      const config = settings.read()
      if (config.signingKey !== null) {
        throw new CommandFailed(
          'The keys are in SERVICE_SIGNING_KEY. Add a new one behind the first, restart every process, and put it\n' +
            `first ${publishedBeforeS / 60} minutes later.`,
        )
      }
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        const { keys } = await requireKeys(config, database.direct)
        const store = await openSealedStore(database.direct, { ...config, encryptionKeys: keys }, randomBytes)
        const rotation = await addSigningKey(store, await makeSigningKey())
        if (rotation.kind === 'upgrading') {
          throw new CommandFailed(
            'A process of the previous release may still run, and could not read a new key. Rotate an hour after the first\n' +
              'process of this release has started.',
          )
        }
        if (rotation.kind === 'waiting') {
          const seconds = Math.ceil(rotation.signsInMs / 1_000)
          throw new CommandFailed(
            `Key ${rotation.kid} is already waiting: it signs in ${seconds} s. Rotate after that.`,
          )
        }
        const { kid, signsFrom } = rotation
        if (json) printJson({ kid, signs_from: signsFrom.toISOString() })
        else print(`Key ${kid} is published, and signs from ${signsFrom.toISOString()}.`)
      } finally {
        await database.close()
      }
    })
}
