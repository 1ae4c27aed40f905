import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The demo's own Keyrail. */
export interface DemoService {
  url: string
  dataDir: string
  /** Where it puts its mail. */
  mailFolder: string
  /** Stops it and its Postgres, and deletes its data. */
  remove(): Promise<void>
}

const command = fileURLToPath(new URL('../../packages/server/src/cli/main.ts', import.meta.url))
const listens = /^Keyrail \S+ listens on (http:\S+)$/

/**
 * Starts `keyrail serve` on a fresh data directory and a free port, with an embedded Postgres. Settings of another
 * Keyrail in this environment are not passed on.
 *
 * @throws with what it printed, when it ends instead.
 */
export async function startDemoService(): Promise<DemoService> {
  const directory = mkdtempSync(join(tmpdir(), 'keyrail-demo-'))
  // As root, Postgres runs under another account that must reach this folder; the secrets inside have their own modes.
  chmodSync(directory, 0o755)
  const dataDir = join(directory, 'data')
  const child = spawn(process.execPath, [command, 'serve'], {
    // Its own process group: Ctrl-C reaches the demo alone, which stops the service when it is done with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0', SERVICE_LOG_LEVEL: 'warn' },
  })
  const remove = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const url = await untilListening(child)
    return { url, dataDir, mailFolder: join(dataDir, 'mail'), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

function untilListening(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', line => {
      printed += `${line}\n`
      const url = listens.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  }
  child.once('error', reject)
  child.once('close', () => reject(new Error(`the service ended instead of listening:\n${printed}`)))
  return promise
}
