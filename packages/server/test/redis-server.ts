import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'

/** A real redis-server on its own loopback port. It stops when the test file ends. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>
  /** Starts it again on its port and in its directory. */
  start(): Promise<void>
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
}

const attempts = 5

/** @param settings command-line arguments such as `['--requirepass', 'x']`, or a function of the port. */
export async function startRedis(
  settings: readonly string[] | ((port: number) => readonly string[]) = [],
): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'keyrail-redis-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  // Another process may take the free port before it is used.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const own = typeof settings === 'function' ? settings(port) : settings
    const server = redisServer(port, directory, own)
    try {
      await server.start()
      after(server.kill)
      return server
    } catch (error) {
      if (attempt === attempts) throw error
    }
  }
}

function redisServer(port: number, directory: string, settings: readonly string[]): RedisServer {
  let child: ChildProcess | null = null
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory, '--save', '', ...settings]
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async start() {
      const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
      child = started
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const said: string[] = []
      started.once('error', reject)
      started.once('exit', () => reject(new Error(`redis-server exited:\n${said.join('\n')}`)))
      createInterface(started.stdout as NodeJS.ReadableStream).on('line', line => {
        said.push(line)
        if (line.includes('Ready to accept connections')) resolve()
      })
      await promise
    },
    async kill() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise(resolve => child?.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
    signal: name => void child?.kill(name),
  }
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  // A cluster node also needs the port 10,000 above its own.
  return port > 55_000 ? port - 30_000 : port
}
