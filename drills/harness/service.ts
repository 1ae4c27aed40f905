import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../../packages/server/src/platform/db/connection.ts'

export interface StartMessage {
  type: 'start'
  connection: Connection
  env: Record<string, string>
}
export interface ClockMessage {
  type: 'clock'
  offsetMs: number
}

export const bootstrapToken = 'bootstrap-token-of-the-drills-0123456789'

/** The service in its own process, on a loopback port. It ends with ours. */
export interface DrilledService {
  readonly url: string
  readonly pid: number
  /** SIGKILL, and waits until it has ended. */
  kill(): Promise<void>
  /** Steps its wall clock, milliseconds ahead of ours or, negative, behind. */
  setClock(offsetMs: number): Promise<void>
}

/** @param logFile where its log goes; for debugging a drill */
export async function startDrilledService(
  connection: Connection,
  { env = {}, logFile = '/dev/null' }: { env?: Record<string, string>; logFile?: string } = {},
): Promise<DrilledService> {
  const log = openSync(logFile, 'a')
  const child = fork(fileURLToPath(new URL('service-main.ts', import.meta.url)), {
    stdio: ['ignore', log, 'inherit', 'ipc'],
    env: {},
  })
  closeSync(log)
  // Where its mail goes.
  const dataDir = mkdtempSync(join(tmpdir(), 'keyrail-drill-'))
  child.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const start: StartMessage = {
    type: 'start',
    connection,
    env: {
      SERVICE_PORT: '0',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
      ...env,
    },
  }
  child.send(start)
  const { url } = (await heard(child, 'listening')) as { url: string }
  return {
    url,
    pid: child.pid ?? 0,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
    async setClock(offsetMs) {
      child.send({ type: 'clock', offsetMs } satisfies ClockMessage)
      await heard(child, 'clock set')
    },
  }
}

/** @throws when the process ends before it has said so. */
async function heard(child: ChildProcess, type: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const onMessage = (message: { type: string }) => {
    if (message.type === type) resolve(message)
  }
  const onExit = () => reject(new Error(`the service ended before it was ${type}`))
  child.on('message', onMessage).on('exit', onExit)
  try {
    return await promise
  } finally {
    child.off('message', onMessage).off('exit', onExit)
  }
}
