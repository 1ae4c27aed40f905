import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Resource } from '../harness/bench.ts'
import { ended, tail, track } from '../harness/children.ts'
import { durableDirectory } from '../harness/durable-directory.ts'
import { pinned, SERVER_CORE } from '../harness/pin.ts'
import { cpuSeconds } from '../harness/proc.ts'
import { freePort } from '../harness/spawn-server.ts'

export type ScratchRedis = Resource & { url: string; cpuSeconds(): number }

/**
 * A separate redis-server beside the server, on loopback.
 *
 * @param appendFsync `always`: each write is on disk before it is answered; null: nothing is stored.
 */
export async function scratchRedis(appendFsync: 'always' | null = null): Promise<ScratchRedis> {
  const directory = mkdtempSync(join(durableDirectory(), 'keyrail-bench-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const durability =
    appendFsync === null ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', appendFsync]
  const run = pinned(SERVER_CORE, 'redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''],
    ...durability,
  ])
  const child = track(spawn(run.command, run.args, { stdio: ['ignore', 'ignore', 'pipe'] }))
  const errors = tail(child.stderr)
  const end = ended(child)
  end.catch(() => {})
  const close = async () => {
    child.kill('SIGTERM')
    await end.catch(() => {})
    rmSync(directory, { recursive: true, force: true })
  }
  const client = new Redis(url, { retryStrategy: times => (times > 100 ? null : 20) })
  client.on('error', () => {})
  try {
    await client.ping()
  } catch (error) {
    await close()
    throw new Error(`redis-server is not ready: ${errors()}`, { cause: error })
  } finally {
    client.disconnect()
  }
  return { url, cpuSeconds: () => cpuSeconds(child.pid ?? 0), close }
}
