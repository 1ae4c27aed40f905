import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A running example. */
export interface Example {
  readonly url: string
  stop(): Promise<void>
}

const listens = /^The .+ listens on (http:[^\s;]+)/

/** @throws when it ends instead of listening. */
export async function startExample(
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<Example> {
  const script = fileURLToPath(new URL(`../${name}/server.ts`, import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, script], {
    // Its own process group: Ctrl-C reaches the demo alone, which stops the example when it is done with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, PORT: '0', ...settings },
  })
  const stop = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  try {
    return { url: await untilListening(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function untilListening(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', line => {
      const url = listens.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  }
  child.once('error', reject)
  child.once('close', code => reject(new Error(`the example ended with ${code} instead of listening`)))
  return promise
}
