import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { makeDirectories } from '../../platform/files/make-directory.ts'
import { readOwnFile, replaceOwnFile, UnsafePath } from '../../platform/files/own-files.ts'
import { CommandFailed } from '../failure.ts'

/** The same minimum as SERVICE_BOOTSTRAP_TOKEN. */
const charactersMin = 32

export const bootstrapTokenPath = (dataDir: string) => join(dataDir, 'bootstrap-token')

/** The token of an embedded database while SERVICE_BOOTSTRAP_TOKEN is unset. */
export interface BootstrapToken {
  readonly token: string
  readonly path: string
  /** This start has made it. */
  readonly isNew: boolean
}

/**
 * Reads the token of a data directory, or makes it on the first start. The caller holds the directory, so two
 * starts cannot both make one.
 * @throws {CommandFailed} if the file has no usable token.
 */
export function ensureBootstrapToken(dataDir: string): BootstrapToken {
  const path = bootstrapTokenPath(dataDir)
  const known = readBootstrapToken(path)
  if (known !== null) return { token: known, path, isNew: false }
  const token = randomBytes(32).toString('hex')
  makeDirectories(dirname(path), 0o777)
  replaceOwnFile(path, `${token}\n`)
  return { token, path, isNew: true }
}

/**
 * @returns null if the file is missing.
 * @throws {CommandFailed} if it has no usable token; the message does not quote it.
 */
export function readBootstrapToken(path: string): string | null {
  const token = readIfThere(path)?.trim()
  if (token === undefined) return null
  if (token.length >= charactersMin && /^[\x21-\x7e]+$/.test(token)) return token
  throw new CommandFailed(
    `${path} must hold one token of at least ${charactersMin} printable characters. ` +
      'Remove the file; the next start makes a new token.',
  )
}

function readIfThere(path: string): string | undefined {
  try {
    return readOwnFile(path)
  } catch (error) {
    if (error instanceof UnsafePath) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new CommandFailed(
      `${path} cannot be read (${code}). It must belong to the account that runs Keyrail.`,
    )
  }
}
