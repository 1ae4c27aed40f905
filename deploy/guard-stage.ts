import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Heard } from '../packages/guard/test/stage.ts'
import { makeDatabase, testCluster } from '../packages/server/test/database.ts'
import { freePort } from '../packages/server/test/free-port.ts'
import { ask as askAt, Installation, root, urlOf } from '../packages/server/test/installation.ts'
import type { AskApi } from '../packages/server/test/mutations.ts'
import { until } from '../packages/server/test/until.ts'
import { issueKey, makeScene, type Scene } from '../packages/server/test/vendor.ts'

/** A guard as a process, the API behind a proxy, and the proxies of `deploy/guard` with their own programs. */

export interface Service {
  readonly scene: Scene
  readonly ask: AskApi
  /** What the guard needs to follow it. */
  readonly env: Record<string, string>
  issue(more?: Record<string, unknown>): Promise<{ id: string; key: string }>
  /** It dies, and stays away. */
  kill(): Promise<void>
  remove(): Promise<void>
}

/** The service as a process, whose clock runs, with a vendor. */
export async function startService(): Promise<Service> {
  const token = 'x'.repeat(32)
  const database = await makeDatabase(testCluster())
  const installation = new Installation({
    DATABASE_URL: urlOf(database.connection),
    SERVICE_BOOTSTRAP_TOKEN: token,
    SERVICE_DASHBOARD: 'off',
  })
  const serving = await installation.serve()
  const ask: AskApi = async (method, path, { token, body } = {}) => {
    const answer = await askAt(serving.url + path, { method, ...(token !== undefined && { token }), body })
    if (answer === null) throw new Error(`${method} ${path} got no answer`)
    return answer
  }
  const scene = await makeScene(ask, token)
  return {
    scene,
    ask,
    env: {
      KEYRAIL_URL: serving.url,
      KEYRAIL_SECRET_KEY: scene.live,
      KEYRAIL_PROJECT: scene.projectId,
    },
    issue: (more = {}) => issueKey({ ask }, scene, more),
    async kill() {
      const { pid } = serving.child
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
      await serving.ended
    },
    async remove() {
      await installation.remove()
      await database.drop()
    },
  }
}

/** What the API behind a proxy received. */
interface Received {
  method: string
  url: string
  rawHeaders: string[]
  bytes: number
  sha256: string
}

export interface Upstream {
  port: number
  received: Received[]
  close(): void
}

/** Notes each request, and answers 200. */
export async function startUpstream(): Promise<Upstream> {
  const received: Received[] = []
  const server = createServer(async (incoming, response) => {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of incoming) {
      hash.update(chunk)
      bytes += chunk.length
    }
    const { method = '', url = '', rawHeaders } = incoming
    received.push({ method, url, rawHeaders, bytes, sha256: hash.digest('hex') })
    response.end('of the API')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, received, close: () => server.close().closeAllConnections() }
}

interface Program {
  output(): string
  signal(name: NodeJS.Signals): void
  /** Ends it, and resolves with its exit code. */
  end(name?: NodeJS.Signals): Promise<number | null>
}

function startProgram(file: string, args: readonly string[], env: Record<string, string> = {}): Program {
  // Debian installs proxies where only root's PATH looks.
  const PATH = `${process.env.PATH}:/usr/sbin`
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', chunk => {
      output += chunk
    })
  const ended = once(child, 'close').catch(() => [null])
  return {
    output: () => output,
    signal: name => void child.kill(name),
    async end(name = 'SIGTERM') {
      child.kill(name)
      const [code] = await ended
      return code
    },
  }
}

export interface GuardProgram extends Program {
  url: string
}

/** The command of the checkout. It listens, and may not have keys yet. */
export async function startGuardProgram(env: Record<string, string>): Promise<GuardProgram> {
  const main = join(root, 'packages/guard/src/main.ts')
  const program = startProgram(process.execPath, ['--conditions=keyrail-source', main], {
    GUARD_LISTEN: '127.0.0.1:0',
    ...env,
  })
  const address = () => /answers at (\S+)"/.exec(program.output())?.[1]
  await until(() => address() !== undefined || program.output().includes('Error:'), 'the guard listens')
  const url = address()
  if (url === undefined) throw new Error(program.output())
  return { ...program, url }
}

export interface Gateway {
  readonly name: string
  ask(path: string, sent?: { method?: string; headers?: OutgoingHttpHeaders; body?: Buffer }): Promise<Heard>
  close(): Promise<void>
}

type Edit = readonly [from: string, to: string]

/** A file of the repository with the ports of this test; a text that is no longer in it is an error. */
function fileOf(name: string, edits: readonly Edit[]): string {
  return edits.reduce(
    (file, [from, to]) => {
      if (!file.includes(from)) throw new Error(`deploy/guard/${name} no longer has ${from}`)
      return file.replaceAll(from, to)
    },
    readFileSync(join(root, 'deploy/guard', name), 'utf8'),
  )
}

/**
 * @param guard its port
 * @param edits what someone changes in the file
 */
type StartProxy = (guard: number, api: number, edits?: readonly Edit[]) => Promise<Gateway>

const startNginx: StartProxy = async (guard, api) => {
  const [folder, port] = [makeFolder(), await freePort()]
  const site = fileOf('nginx.conf', [
    ['127.0.0.1:8070', `127.0.0.1:${guard}`],
    ['127.0.0.1:3000', `127.0.0.1:${api}`],
    ['listen 80', `listen 127.0.0.1:${port}`],
  ])
  writeFileSync(join(folder, 'site.conf'), site)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = `daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
  include ${folder}/site.conf;
}
`
  writeFileSync(join(folder, 'nginx.conf'), main)
  return await opened('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], folder, port)
}

const startHaproxy: StartProxy = async (guard, api) => {
  const [folder, port] = [makeFolder(), await freePort()]
  const file = fileOf('haproxy.cfg', [
    ['127.0.0.1:8070', `127.0.0.1:${guard}`],
    ['127.0.0.1:3000', `127.0.0.1:${api}`],
    ['bind :80', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/keyrail.lua', join(folder, 'keyrail.lua')],
    // The test may run as any account, with few files.
    ['maxconn 25000', 'maxconn 1000'],
    ['  user haproxy\n  group haproxy\n', ''],
  ])
  writeFileSync(join(folder, 'haproxy.cfg'), file)
  cpSync(join(root, 'deploy/guard/keyrail.lua'), join(folder, 'keyrail.lua'))
  return await opened('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], folder, port)
}

export const startCaddy: StartProxy = async (guard, api, edits = []) => {
  const [folder, port] = [makeFolder(), await freePort()]
  const file = fileOf('Caddyfile', [
    ['127.0.0.1:8070', `127.0.0.1:${guard}`],
    ['127.0.0.1:3000', `127.0.0.1:${api}`],
    ['api.example.com {', `http://127.0.0.1:${port} {`],
    ...edits,
  ])
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https off\n}\n\n${file}`)
  return await opened('caddy', ['run', '--config', join(folder, 'Caddyfile')], folder, port)
}

export const proxies: readonly (readonly [name: string, start: StartProxy])[] = [
  ['nginx', startNginx],
  ['HAProxy', startHaproxy],
  ['Caddy', startCaddy],
]

/** A folder that the account of a proxy can read. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-guard-proxy-'))
  chmodSync(folder, 0o755)
  return folder
}

async function opened(name: string, args: readonly string[], folder: string, port: number): Promise<Gateway> {
  const program = startProgram(name, args, { HOME: folder })
  const proxy = {
    name,
    ask: (path: string, sent = {}) => askThrough(port, path, sent),
    async close() {
      await program.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const isUp = () =>
    askThrough(port, '/', {}).then(
      () => true,
      () => false,
    )
  try {
    await until(isUp, `${name} serves`, 1_000)
  } catch (error) {
    await proxy.close()
    throw new Error(`${(error as Error).message}: ${program.output()}`)
  }
  return proxy
}

async function askThrough(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: OutgoingHttpHeaders; body?: Buffer },
): Promise<Heard> {
  const call = request({ host: '127.0.0.1', port, method, path, headers, agent: false })
  // A proxy that waits for the guard for ever fails the test at once.
  call.setTimeout(20_000, () => call.destroy(new Error(`${path} got no answer`)))
  call.end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const heard = await text(response)
  const isJson = String(response.headers['content-type']).includes('json')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isJson ? JSON.parse(heard) : heard,
  }
}
