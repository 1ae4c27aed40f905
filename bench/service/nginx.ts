import { spawn } from 'node:child_process'
import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Resource } from '../harness/bench.ts'
import { ended, tail, track } from '../harness/children.ts'
import { durableDirectory } from '../harness/durable-directory.ts'
import { pinned, SERVER_CORE } from '../harness/pin.ts'
import { freePort } from '../harness/spawn-server.ts'

/** An nginx that only serves files: what a fleet could poll if its policy were a file. */
export type Nginx = Resource & {
  url: string
  /** The master process, whose one child serves. */
  pid: number
  /** The file for a path; its folders exist after the call. */
  fileOf(path: string): string
}

const READY_WITHIN_MS = 10_000

/** One worker on the server's core, logging to /dev/null as in every arm. @throws Error that says what to install */
export async function startNginx({ core = SERVER_CORE }: { core?: number | null } = {}): Promise<Nginx> {
  const program = requireNginx()
  const folder = mkdtempSync(join(durableDirectory(), 'keyrail-nginx-'))
  // As root, the worker runs under another account, which must be able to enter and read.
  chmodSync(folder, 0o755)
  const files = join(folder, 'files')
  mkdirSync(files)
  const discard = () => rmSync(folder, { recursive: true, force: true })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  writeFileSync(join(folder, 'nginx.conf'), configurationOf({ folder, port }))
  writeFileSync(join(files, 'ready'), 'ready')
  const run = pinned(core, program, ['-p', folder, '-c', join(folder, 'nginx.conf')])
  const child = track(spawn(run.command, run.args, { stdio: ['ignore', 'ignore', 'pipe'] }))
  const errors = tail(child.stderr)
  const end = ended(child)
  end.catch(() => {})
  const close = async () => {
    // At once, without waiting for connections; the master ends its worker.
    child.kill('SIGTERM')
    await end.catch(() => {})
    discard()
  }
  try {
    await Promise.race([
      untilReady(`${url}/ready`),
      end.then(({ code, signal }) => {
        throw new Error(`nginx ended with ${signal ?? code}: ${errors()}`)
      }),
    ])
    const { pid } = child
    if (pid === undefined) throw new Error('nginx has no pid')
    const fileOf = (path: string) => {
      const file = join(files, path)
      mkdirSync(dirname(file), { recursive: true })
      return file
    }
    return { url, pid, fileOf, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The usual setup for files that change at any time: sendfile, tags, and no cache of open files. */
const configurationOf = ({ folder, port }: { folder: string; port: number }) => `daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 1;
worker_rlimit_nofile 16384;
events { worker_connections 12000; }
http {
  access_log /dev/null;
  default_type application/json;
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  etag on;
  keepalive_timeout 75s;
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/body;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    root ${folder}/files;
  }
}
`

async function untilReady(url: string): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS
  while (performance.now() < until) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    await sleep(10)
  }
  throw new Error(`nginx was not ready within ${READY_WITHIN_MS} ms`)
}

function requireNginx(): string {
  // Debian installs it where only root's PATH looks.
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/sbin']
  const program = folders.map(folder => join(folder, 'nginx')).find(isExecutable)
  if (!program) throw new Error('nginx is not installed (Debian: nginx-light)')
  return program
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
