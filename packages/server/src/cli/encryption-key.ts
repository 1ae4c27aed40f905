import { randomBytes } from 'node:crypto'
import { closeSync, constants, fsyncSync, linkSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import {
  drawEncryptionKey,
  type EncryptionKey,
  readEncryptionKeys,
} from '../platform/crypto/encryption-keys.ts'
import type { Connection } from '../platform/db/connection.ts'
import { keysInUse, queryOf } from '../platform/db/sealed-columns.ts'
import { refuseUnknownKeys } from '../platform/db/sealed-store.ts'
import { makeDirectories } from '../platform/make-directory.ts'
import { readOwnFile } from '../platform/own-files.ts'
import { withClient } from './database.ts'
import { CommandFailed } from './failure.ts'

/** Beside the embedded database and not in it, so that no backup has it. */
export const encryptionKeyPath = (dataDir: string) => join(dataDir, 'encryption-key')

/** The master keys, and where they are from. */
export interface GivenKeys {
  readonly keys: readonly EncryptionKey[]
  /** The file of an embedded database; null: SERVICE_ENCRYPTION_KEY. */
  readonly path: string | null
  /** Made by this command. */
  readonly isNew: boolean
}

export const makeKeyCommand = 'openssl rand -base64 32'
const setKey =
  `Make a key, keep it apart from backups, and give the same one to every process:\n` +
  `  ${makeKeyCommand} > encryption-key && chmod 600 encryption-key\n` +
  `  export SERVICE_ENCRYPTION_KEY_FILE="$PWD/encryption-key"`

export const missingKey = `SERVICE_ENCRYPTION_KEY is not set, and DATABASE_URL is. Secrets in the database are sealed by it.\n${setKey}`

/**
 * The keys that the settings give, or else those of the embedded database's file; empty while there are none.
 * @throws when the file cannot be read, or holds something else.
 */
export function givenKeys({ encryptionKeys, databaseUrl, dataDir }: Config): GivenKeys {
  if (encryptionKeys.length > 0 || databaseUrl !== null) {
    return { keys: encryptionKeys, path: null, isNew: false }
  }
  const path = encryptionKeyPath(dataDir)
  return { keys: readKeyFile(path) ?? [], path, isNew: false }
}

/**
 * The same for who must seal: the embedded database gets its key at its first start.
 * @param connection of a migrated database.
 * @throws {CommandFailed | UnknownKey} when there is no key, saying how to make one, or when one is missing.
 */
export async function requireKeys(config: Config, connection: Connection): Promise<GivenKeys> {
  const { keys, path } = givenKeys(config)
  const keyIds = keys.map(({ id }) => id)
  if (keys.length > 0) await withClient(connection, client => refuseUnknownKeys(queryOf(client), keyIds))
  else if (path !== null) await refuseSealed(connection, path)
  return ensureKeys(config)
}

/**
 * The same, whatever the database holds.
 * @throws {CommandFailed} when there is no key and no place for one.
 */
export function ensureKeys(config: Config): GivenKeys {
  const given = givenKeys(config)
  if (given.keys.length > 0) return given
  if (given.path === null) throw new CommandFailed(missingKey)
  makeKeyFile(given.path)
  return { ...given, keys: readKeyFile(given.path) ?? [], isNew: true }
}

/** A new key would open none of what the lost one has sealed. */
async function refuseSealed(connection: Connection, path: string): Promise<void> {
  const sealed = await withClient(connection, client => keysInUse(queryOf(client)))
  if (sealed.length === 0) return
  throw new CommandFailed(
    `${path} is missing. Secrets in the database are sealed by the key ${sealed.map(({ keyId }) => keyId).join(', ')}.\n` +
      `Put the file back. If it is lost for good: keyrail encryption rotate --discard`,
  )
}

/** Whole or not at all, and readable by us alone from the first moment. A file that is there is left as it is. */
export function makeKeyFile(path: string): void {
  makeDirectories(dirname(path), 0o777)
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(draft, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    writeSync(file, `${drawEncryptionKey(randomBytes)}\n`)
    fsyncSync(file)
    linkSync(draft, path)
  } catch (error) {
    // Another process has been faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
  const directory = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(directory)
  closeSync(directory)
}

/**
 * @returns null when there is no such file.
 * @throws {UnsafePath} when it is a link, or another user's.
 */
function readKeyFile(path: string): readonly EncryptionKey[] | null {
  const text = readOwnFile(path)
  if (text === undefined) return null
  const { keys, faults } = readEncryptionKeys(text)
  if (keys.length > 0 && faults.length === 0) return keys
  const reason = faults[0] ?? 'it is empty'
  throw new CommandFailed(`${path} must hold the encryption key: ${reason}. Put the file back as it was.`)
}
