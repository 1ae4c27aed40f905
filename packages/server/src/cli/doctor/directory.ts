import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { findPlace } from '../../platform/db/embedded/directory.ts'
import { refuseUnsafeDirectory } from '../../platform/files/own-files.ts'
import { encryptionKeyPath } from '../encryption-key.ts'
import { explain } from '../failure.ts'
import { shellWord } from '../output.ts'
import { bootstrapTokenPath, readBootstrapToken } from '../serve/bootstrap-token.ts'
import type { Check } from './check.ts'

const name = 'data directory'
const othersMayWrite = 0o022
const othersMayUse = 0o077
/** The group is not checked, because it may be how the service gets access. */
const othersMayRead = 0o007

/** Checks that only this account can write in the data directory and read its secrets. */
export function checkDataDirectory({ databaseUrl, dataDir }: Config): Check[] {
  if (databaseUrl !== null) return [{ name, status: 'ok', message: 'not used: DATABASE_URL is set' }]
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (found === undefined) {
    return [
      { name, status: 'warning', message: `${dataDir} does not exist yet`, todo: 'npm start creates it.' },
    ]
  }
  if (!found.isDirectory() || !isWritable(dataDir)) {
    const todo = 'Set SERVICE_DATA_DIR to a directory of the account that runs Keyrail.'
    return [
      {
        name,
        status: 'fault',
        message: `${dataDir} is not a directory that this account can write in`,
        todo,
      },
    ]
  }
  const faults = [...checkWriters(dataDir, found.mode)]
  try {
    if (faults.length === 0) refuseUnsafeDirectory(dataDir, 'SERVICE_DATA_DIR')
    faults.push(...secretsOf(dataDir).flatMap(checkSecret))
  } catch (error) {
    faults.push({ name, status: 'fault', message: explain(error) })
  }
  return faults.length > 0 ? faults : [{ name, status: 'ok', message: dataDir }]
}

function checkWriters(dataDir: string, mode: number): Check[] {
  if ((mode & othersMayWrite) === 0) return []
  const todo = `chmod go-w ${shellWord(dataDir)}`
  return [{ name, status: 'fault', message: `${dataDir} can be written by other accounts`, todo }]
}

const secretsOf = (dataDir: string) => {
  const base = findPlace(dataDir)?.base ?? dataDir
  return [
    bootstrapTokenPath(dataDir),
    encryptionKeyPath(dataDir),
    join(base, 'postgres-password'),
    join(base, 'postgres-service-password'),
  ]
}

function checkSecret(path: string): Check[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & othersMayUse) === 0) return []
  const todo = `chmod 600 ${shellWord(path)}`
  return [{ name, status: 'fault', message: `${path} can be read by other accounts`, todo }]
}

/**
 * Checks the secret files that settings name. They may be links, as Kubernetes mounts them, and belong to
 * others. It is a warning if other accounts can read them.
 */
export function checkSecretFiles(files: readonly [setting: string, path: string][]): Check[] {
  return files.flatMap(([setting, path]) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & othersMayRead) === 0) return []
    const todo = `chmod o-rwx ${shellWord(path)} (Kubernetes: defaultMode: 0400)`
    const message = `${path} of ${setting} can be read by every account`
    return [{ name: 'secret files', status: 'warning' as const, message, todo }]
  })
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Checks whether a bootstrap token can create workspaces, and which one. */
export function checkBootstrapToken({ bootstrapToken, databaseUrl, dataDir }: Config): Check {
  const check = (status: Check['status'], message: string, todo?: string): Check => ({
    name: 'bootstrap token',
    status,
    message,
    ...(todo !== undefined && { todo }),
  })
  if (bootstrapToken !== null) return check('ok', 'set by SERVICE_BOOTSTRAP_TOKEN')
  if (databaseUrl !== null) {
    return check('ok', 'none: only persons can create workspaces; SERVICE_BOOTSTRAP_TOKEN sets a token')
  }
  const path = bootstrapTokenPath(dataDir)
  try {
    if (readBootstrapToken(path) !== null) return check('ok', `in ${path}`)
  } catch (error) {
    return check('fault', explain(error))
  }
  return check('warning', `${path} does not exist yet`, 'npm start makes one.')
}
