import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after } from 'node:test'

export interface Served {
  url: string
  /** Resolves with its exit code. */
  ended: Promise<number | null>
  /** Its output until now. */
  output(): string
  child: ChildProcess
}

/** Runs a program that prints the address where it listens. It ends with the test file at the latest. */
export async function serveBy(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<Served> {
  const child = spawn(command, args, { env: {}, ...options })
  after(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  const address = /http:\/\/[\w.]+:\d+/
  while (!address.test(text)) {
    await Promise.race([
      once(child.stdout, 'data'),
      ended.then(code => assert.fail(`${command} ended with ${code}: ${text}`)),
    ])
  }
  return { url: address.exec(text)?.[0] ?? '', ended, output: () => text, child }
}
