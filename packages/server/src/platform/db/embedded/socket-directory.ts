import { chmodSync, chownSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectories } from '../../files/make-directory.ts'
import type { Account } from './account.ts'

/** A socket's path may have 107 bytes on Linux and 103 on macOS, including the file name `.s.PGSQL.<port>`. */
const PATH_BYTES_MAX = 103
const NAME_BYTES_MAX = Buffer.byteLength('/.s.PGSQL.65535')
/** Short on every system, unlike TMPDIR. */
const SHORT_PLACE = '/tmp'
const PREFIX = 'keyrail-socket-'

/** Whether a server's socket fits in this directory. */
export function fitsSocket(directory: string): boolean {
  return Buffer.byteLength(directory) + NAME_BYTES_MAX <= PATH_BYTES_MAX
}

/**
 * Returns the directory for the socket, closed to everyone but the account and its guests: the wanted one, or if
 * that path is too long, the one used last time, or else a new one with a random name in a short place.
 *
 * @param last the socket directory of the previous server
 * @param guests the group id that may pass through to the socket
 */
export function makeSocketDirectory(
  wanted: string,
  account: Account,
  { last, guests }: { last?: string | undefined; guests?: number | undefined } = {},
): string {
  if (fitsSocket(wanted)) {
    makeDirectories(wanted, 0o700)
    return close(wanted, account, guests)
  }
  if (last && isOurs(last, account)) return close(last, account, guests)
  return close(mkdtempSync(join(SHORT_PLACE, PREFIX)), account, guests)
}

/** Cleans up after the server has stopped: a random name in the short place is not needed any more. */
export function removeSocketDirectory(directory: string): void {
  if (directory.startsWith(join(SHORT_PLACE, PREFIX))) rmSync(directory, { recursive: true, force: true })
}

/** Whether only the account could have put things there: anyone can make a name in /tmp. */
function isOurs(directory: string, account: Account): boolean {
  if (!directory.startsWith(join(SHORT_PLACE, PREFIX))) return false
  const found = lstatSync(directory, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === account.uid && (found.mode & 0o067) === 0
}

function close(directory: string, account: Account, guests: number | undefined): string {
  if (account.switched) chownSync(directory, account.uid, guests ?? account.gid)
  chmodSync(directory, guests === undefined ? 0o700 : 0o710)
  return directory
}
