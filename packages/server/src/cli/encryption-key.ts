import { randomBytes } from 'node:crypto'
import { closeSync, constants, fsyncSync, linkSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import {
  drawEncryptionKey,
  type EncryptionKey,
  readEncryptionKeys,
} from '../platform/crypto/encryption-keys.ts'
import type { Connection } from '../platform/db/connection.ts'
import { keysInUse, queryOf } from '../platform/db/sealed/columns.ts'
import { refuseUnknownKeys } from '../platform/db/sealed/store.ts'
import { explainFullDisk } from '../platform/files/disk-full.ts'
import { makeDirectories } from '../platform/files/make-directory.ts'
import { readOwnFile } from '../platform/files/own-files.ts'
import { withClient } from './database.ts'
import { CommandFailed } from './failure.ts'

/** Beside the embedded database and not in it, so that no backup contains it. */
export const encryptionKeyPath = (dataDir: string) => join(dataDir, 'encryption-key')

/** The master keys, and their source. */
export interface GivenKeys {
  readonly keys: readonly EncryptionKey[]
  /** The file of an embedded database; null: SERVICE_ENCRYPTION_KEY. */
  readonly path: string | null
  /** This command has made it. */
  readonly isNew: boolean
}

const makeKeyCommand = 'openssl rand -base64 32'
const setKey =
  `Make a key, keep it apart from backups, and give the same one to every process:\n` +
  `  ${makeKeyCommand} > encryption-key && chmod 600 encryption-key\n` +
  `  export SERVICE_ENCRYPTION_KEY_FILE="$PWD/encryption-key"`

export const missingKey = `SERVICE_ENCRYPTION_KEY is not set, and DATABASE_URL is. Keyrail seals secrets in the database with it.\n${setKey}`

/**
 * Returns the keys of the settings, or else those in the embedded database's file; empty if there are none.
 * @throws if the file cannot be read or has other content.
 */
export function givenKeys({ encryptionKeys, databaseUrl, dataDir }: Config): GivenKeys {
  if (encryptionKeys.length > 0 || databaseUrl !== null) {
    return { keys: encryptionKeys, path: null, isNew: false }
  }
  const path = encryptionKeyPath(dataDir)
  return { keys: readKeyFile(path) ?? [], path, isNew: false }
}

/**
 * As `givenKeys`, for a process that must seal: the embedded database gets its key at its first start.
 * @param connection a migrated database.
 * @throws {CommandFailed | UnknownKey} if there is no key, saying how to make one, or if one is missing.
 */
export async function requireKeys(config: Config, connection: Connection): Promise<GivenKeys> {
  const { keys, path } = givenKeys(config)
  const keyIds = keys.map(({ id }) => id)
  if (keys.length > 0) await withClient(connection, client => refuseUnknownKeys(queryOf(client), keyIds))
  else if (path !== null) await refuseSealed(connection, path)
  return ensureKeys(config)
}

/**
 * As `requireKeys`, whatever the database contains.
 * @throws {CommandFailed} if there is no key and no place for one.
 */
export function ensureKeys(config: Config): GivenKeys {
  const given = givenKeys(config)
  if (given.keys.length > 0) return given
  if (given.path === null) throw new CommandFailed(missingKey)
  makeKeyFile(given.path)
  return { ...given, keys: readKeyFile(given.path) ?? [], isNew: true }
}

/** Refuses to make a new key if a lost key has sealed secrets, because the new one could not open them. */
async function refuseSealed(connection: Connection, path: string): Promise<void> {
  const sealed = await withClient(connection, client => keysInUse(queryOf(client)))
  if (sealed.length === 0) return
  throw new CommandFailed(
    `${path} is missing. Secrets in the database are sealed with the key ${sealed.map(({ keyId }) => keyId).join(', ')}.\n` +
      `Restore the file. If it is lost for good: keyrail encryption rotate --discard`,
  )
}

/** Writes the file atomically, readable by this account only from the start. Keeps an existing file. */
function makeKeyFile(path: string): void {
  makeDirectories(dirname(path), 0o777)
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(draft, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    writeFileSync(file, `${drawEncryptionKey(randomBytes)}\n`)
    fsyncSync(file)
    linkSync(draft, path)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainFullDisk(error, path)
  } finally {
    closeSync(file)
    rmSync(draft, { force: true })
  }
  const directory = openSync(dirname(path), constants.O_RDONLY)
  fsyncSync(directory)
  closeSync(directory)
}

/**
 * @returns null if the file is missing.
 * @throws {UnsafePath} if it is a link or belongs to another user.
 */
function readKeyFile(path: string): readonly EncryptionKey[] | null {
  const text = readOwnFile(path)
  if (text === undefined) return null
  const { keys, faults } = readEncryptionKeys(text)
  if (keys.length > 0 && faults.length === 0) return keys
  const reason = faults[0] ?? 'it is empty'
  throw new CommandFailed(`${path} must contain the encryption key: ${reason}. Restore the file.`)
}
