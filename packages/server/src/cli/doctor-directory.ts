import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { findPlace } from '../platform/db/embedded/directory.ts'
import { bootstrapTokenPath, readBootstrapToken } from './bootstrap-token.ts'
import type { Check } from './doctor-check.ts'
import { explain } from './failure.ts'
import { shellWord } from './output.ts'

const name = 'data directory'
const othersMayWrite = 0o022
const othersMayUse = 0o077

/** The data directory is ours to write in, nobody else's, and keeps its secrets. */
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
    return [{ name, status: 'fault', message: `${dataDir} is not a directory that we may write in`, todo }]
  }
  const faults = [...checkWriters(dataDir, found.mode), ...secretsOf(dataDir).flatMap(checkSecret)]
  return faults.length > 0 ? faults : [{ name, status: 'ok', message: dataDir }]
}

function checkWriters(dataDir: string, mode: number): Check[] {
  if ((mode & othersMayWrite) === 0) return []
  const todo = `chmod go-w ${shellWord(dataDir)}`
  return [{ name, status: 'fault', message: `${dataDir} can be written by other accounts`, todo }]
}

const secretsOf = (dataDir: string) => [
  bootstrapTokenPath(dataDir),
  join(findPlace(dataDir)?.base ?? dataDir, 'postgres-password'),
]

function checkSecret(path: string): Check[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & othersMayUse) === 0) return []
  const todo = `chmod 600 ${shellWord(path)}`
  return [{ name, status: 'fault', message: `${path} can be read by other accounts`, todo }]
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether, and by which token, workspaces can be created without a session. */
export function checkBootstrapToken({ bootstrapToken, databaseUrl, dataDir }: Config): Check {
  const check = (status: Check['status'], message: string, todo?: string): Check => ({
    name: 'bootstrap token',
    status,
    message,
    ...(todo !== undefined && { todo }),
  })
  if (bootstrapToken !== null) return check('ok', 'set by SERVICE_BOOTSTRAP_TOKEN')
  if (databaseUrl !== null) {
    return check('ok', 'none: nobody can create workspaces with one; SERVICE_BOOTSTRAP_TOKEN would allow it')
  }
  const path = bootstrapTokenPath(dataDir)
  try {
    if (readBootstrapToken(path) !== null) return check('ok', `in ${path}`)
  } catch (error) {
    return check('fault', explain(error))
  }
  return check('warning', `${path} does not exist yet`, 'npm start makes one.')
}
