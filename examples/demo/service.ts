import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A Keyrail of the demo's own. */
export interface DemoService {
  url: string
  dataDir: string
  /** Where its mail is. */
  mailFolder: string
  /** Stops it with its Postgres, and removes its data. */
  remove(): Promise<void>
}

const command = fileURLToPath(new URL('../../packages/server/src/cli/main.ts', import.meta.url))
const listens = /^Keyrail \S+ listens on (http:\S+)$/

/**
 * Starts `keyrail serve` on a fresh data directory and a free port, with an embedded Postgres. Whatever this
 * environment has set for another Keyrail is not handed on.
 * @throws with what it printed, when it ends instead.
 */
export async function startDemoService(): Promise<DemoService> {
  const directory = mkdtempSync(join(tmpdir(), 'keyrail-demo-'))
  // As root, Postgres runs under an account that has to get there; the secrets in it are closed by themselves.
  chmodSync(directory, 0o755)
  const dataDir = join(directory, 'data')
  const child = spawn(process.execPath, [command, 'serve'], {
    // A group of its own: Ctrl-C reaches us, and we stop it when we have finished with it.
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
