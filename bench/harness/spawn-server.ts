import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Resource } from './bench.ts'
import { ended, tail, track } from './children.ts'
import { pinned, SERVER_CORE } from './pin.ts'
import { cpuSeconds, peakRssBytes, resetPeakRss } from './proc.ts'

export type ServerOptions = {
  /** Path of a script that this Node runs directly. */
  script: string
  args?: readonly string[]
  nodeArgs?: readonly string[]
  /** Added to the environment of the bench. NODE_ENV is `production` by default. */
  env?: Readonly<Record<string, string>>
  cwd?: string
  core?: number | null
  /**
   * A URL that answers 2xx once the server is ready, or a pattern that its standard output then matches. Prefer the
   * URL: output then goes to /dev/null, so that logging costs each arm the same write, and no process reads it on a
   * measured core.
   */
  ready: { url: string } | { line: RegExp }
  readyWithinMs?: number
}

export type ServerProcess = Resource & {
  pid: number
  /** From the start of the process to its first ready answer, in milliseconds. */
  readyMs: number
  /** The match of `ready.line`, groups included; null for a URL. */
  readyMatch: RegExpExecArray | null
  peakRssBytes(): number
  resetPeakRss(): void
  cpuSeconds(): number
  /** SIGKILL, like a crash, and waits for the end. */
  kill(): Promise<void>
  /** SIGTERM, SIGKILL after 5 s, and waits for the end. */
  close(): Promise<void>
}

/** How often the health URL is called: this is the resolution of `readyMs`. */
const LOOK_EVERY_MS = 2
const CLOSE_WITHIN_MS = 5_000

/** @throws Error with the end of its standard error, when the server ends or is not ready in time */
export async function spawnServer(options: ServerOptions): Promise<ServerProcess> {
  const { script, args = [], nodeArgs = [], env = {}, core = SERVER_CORE, ready } = options
  const { readyWithinMs = 60_000, cwd = process.cwd() } = options
  const run = pinned(core, process.execPath, [...nodeArgs, script, ...args])
  const startedAt = performance.now()
  const child = track(
    spawn(run.command, run.args, {
      cwd,
      env: { ...process.env, NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'line' in ready ? 'pipe' : 'ignore', 'pipe'],
    }),
  )
  const errors = tail(child.stderr)
  const end = ended(child)
  // Handled when a caller awaits it; a failed start is reported below.
  end.catch(() => {})

  const stop = async (signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal)
    await Promise.race([end, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })])
    child.kill('SIGKILL')
    await end
  }
  const given = new AbortController()
  try {
    const readyMatch = await Promise.race([
      'line' in ready ? untilLine(child.stdout, ready.line) : untilUrl(ready.url, given.signal),
      end.then(({ code, signal }) => {
        throw new Error(`${script} ended with ${signal ?? code} before it was ready: ${errors()}`)
      }),
      sleep(readyWithinMs, undefined, { signal: given.signal }).then(() => {
        throw new Error(`${script} was not ready within ${readyWithinMs} ms: ${errors()}`)
      }),
    ])
    const { pid } = child
    if (pid === undefined) throw new Error(`${script} has no pid`)
    return {
      pid,
      readyMs: performance.now() - startedAt,
      readyMatch,
      peakRssBytes: () => peakRssBytes(pid),
      resetPeakRss: () => resetPeakRss(pid),
      cpuSeconds: () => cpuSeconds(pid),
      kill: () => stop('SIGKILL'),
      close: () => stop('SIGTERM'),
    }
  } catch (error) {
    await stop('SIGKILL').catch(() => {})
    throw error
  } finally {
    given.abort()
  }
}

async function untilLine(output: NodeJS.ReadableStream | null, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise(resolve => {
    let seen = ''
    let found = false
    output?.setEncoding('utf8').on('data', (chunk: string) => {
      // Keeps reading after the match, or a server that logs would fill the pipe and stop.
      if (found) return
      seen += chunk
      const match = pattern.exec(seen)
      found = match !== null
      if (match) resolve(match)
    })
  })
}

async function untilUrl(url: string, signal: AbortSignal): Promise<null> {
  while (!signal.aborted) {
    const answer = await fetch(url, { signal }).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return null
    await sleep(LOOK_EVERY_MS)
  }
  return null
}

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
