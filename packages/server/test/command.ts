import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../src/platform/db/connection.ts'
import { encryptionKey } from './encryption-key.ts'
import { urlOf } from './installation.ts'

export interface Command {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; bytes: Buffer; out: string; messages: string }>
}

const program = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

/**
 * Starts a command of `keyrail`.
 *
 * @param where a database, or the folder of an embedded one
 * @param key of SERVICE_ENCRYPTION_KEY
 */
export function startCommand(
  args: readonly string[],
  { where, key = encryptionKey }: { where: Connection | string; key?: string | undefined },
): Command {
  const child = spawn(process.execPath, [program, ...args], {
    env: {
      PATH: process.env.PATH,
      SERVICE_ENCRYPTION_KEY: key,
      ...(typeof where === 'string' ? { SERVICE_DATA_DIR: where } : { DATABASE_URL: urlOf(where) }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: Buffer[] = []
  const messages: string[] = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => messages.push(String(piece)))
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    bytes: Buffer.concat(out),
    out: Buffer.concat(out).toString(),
    messages: messages.join(''),
  }))
  return { child, ended }
}
