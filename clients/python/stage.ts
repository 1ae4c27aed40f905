import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../packages/server/test/installation.ts'
import { ownMark } from '../../packages/server/test/mark.ts'
import { until } from '../../packages/server/test/until.ts'

/** Programs of a vendor in Python, as processes. */

/** That of Debian, for which its packages of frameworks are. */
export const python = '/usr/bin/python3'
export const source = join(root, 'clients/python')

/** The package is taken from its folder, and leaves no compiled files in it. */
const environment = (env: Record<string, string>) => ({
  PATH: process.env.PATH ?? '',
  PYTHONPATH: source,
  PYTHONDONTWRITEBYTECODE: '1',
  ...ownMark(),
  ...env,
})

const run = promisify(execFile)

/** Runs Python to its end. Rejects with what it printed if it fails. */
export const runPython = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> =>
  (await run(python, args, { cwd: source, env: environment(env), maxBuffer: 16 * 1024 * 1024 })).stdout

interface Answer {
  status: number
  headers: Headers
  text: string
}

export interface VendorProgram {
  ask(key?: string, path?: string): Promise<Answer>
  /** Ends it as an operator does, and resolves with its exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Starts a program and waits until it listens. It may not have keys yet.
 *
 * @param kind how `tests/vendor.py` serves it
 */
export async function startVendor(
  kind: string,
  text: string,
  env: Record<string, string>,
): Promise<VendorProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-python-'))
  const file = join(folder, 'app.py')
  writeFileSync(file, text)
  const args = ['-W', 'error::ResourceWarning', join(source, 'tests/vendor.py'), kind, file]
  const child = spawn(python, args, { cwd: folder, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => {
      output += chunk
    })
  const ended = once(child, 'close')
  let isOver = false
  ended.then(() => {
    isOver = true
    rmSync(folder, { recursive: true, force: true })
  })
  const port = () => /listens on (\d+)/.exec(output)?.[1]
  await until(() => isOver || port() !== undefined, 'the program listens')
  if (port() === undefined) throw new Error(output)
  return {
    async ask(key, path = '/orders') {
      const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }) }
      const answer = await fetch(`http://127.0.0.1:${port()}${path}`, { headers })
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    },
    async end(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = await ended
      return code
    },
  }
}
