import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Connection } from '../packages/server/src/platform/db/connection.ts'
import { makeCertificate } from '../packages/server/test/certificate.ts'
import { freePort } from '../packages/server/test/free-port.ts'
import { Installation, root, type Serving, urlOf } from '../packages/server/test/installation.ts'
import type { AskApi } from '../packages/server/test/mutations.ts'
import { until } from '../packages/server/test/until.ts'

export const bootstrapToken = 'x'.repeat(32)

export interface Process {
  readonly port: number
  readonly serving: Serving
  /** What this process has logged. */
  readonly log: () => string
  metrics(): Promise<string>
  /** Ends it in order, and starts it again on the same port. @returns what the ended process has logged. */
  restart(): Promise<string>
}

/** Three processes on one database, as the files of the proxies have them. */
export async function startProcesses(
  connection: Connection,
): Promise<{ processes: Process[]; remove(): Promise<void> }> {
  const installation = new Installation({
    DATABASE_URL: urlOf(connection),
    SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
    SERVICE_DASHBOARD: 'off',
    SERVICE_TRUST_PROXY: '1',
    SERVICE_METRICS_PORT: '0',
    // As docs/deploy.md advises.
    SERVICE_DRAIN_DELAY_S: '5',
  })
  const start = async (port: number): Promise<Process> => {
    const serve = () => installation.serve({ SERVICE_PORT: String(port) })
    let serving = await serve()
    const log = () => serving.output.out
    return {
      port,
      get serving() {
        return serving
      },
      log,
      async metrics() {
        const [, url = ''] = /"metrics_url":"([^"]+)"/.exec(log()) ?? []
        return await (await fetch(url)).text()
      },
      async restart() {
        serving.child.kill('SIGTERM')
        const { code, out, err } = await serving.ended
        if (code !== 0) throw new Error(`exit code ${code}: ${out}${err}`)
        serving = await serve()
        return out
      },
    }
  }
  const processes: Process[] = []
  // The file of a proxy names the ports of the processes, which keep them over a restart.
  for (let i = 0; i < 3; i += 1) processes.push(await start(await freePort()))
  return {
    processes,
    remove: () => installation.remove(),
  }
}

export interface Balancer {
  readonly name: string
  /** Sends a request as a client of the proxy, over connections that it keeps; a text as the body is sent as it is. */
  readonly ask: AskApi
  /** The headers of the answer to a GET. */
  headersOf(path: string): Promise<IncomingHttpHeaders>
  close(): Promise<void>
}

/** Replaces a text that the file must contain. */
const replace = (file: string, from: string, to: string): string => {
  if (!file.includes(from)) throw new Error(`the file no longer has ${from}`)
  return file.replaceAll(from, to)
}

/** The file of the repository, with the ports and certificates of this test. */
function fileOf(
  path: string,
  ports: readonly number[],
  others: readonly [from: string, to: string][],
): string {
  const shipped = readFileSync(join(root, path), 'utf8')
  const addresses = ports.map((port, i): [string, string] => [`127.0.0.1:808${i + 1}`, `127.0.0.1:${port}`])
  return [...addresses, ...others].reduce((file, [from, to]) => replace(file, from, to), shipped)
}

/** A folder that the account of the proxy can read. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-proxy-'))
  chmodSync(folder, 0o755)
  return folder
}

export async function startNginx(ports: readonly number[]): Promise<Balancer> {
  const [folder, port, { files, cert }] = [makeFolder(), await freePort(), makeCertificate()]
  const site = fileOf('deploy/nginx/keyrail.conf', ports, [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/nginx/keyrail.crt', files.cert],
    ['/etc/nginx/keyrail.key', files.key],
  ])
  writeFileSync(join(folder, 'keyrail.conf'), site)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = `daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
  include ${folder}/keyrail.conf;
}
`
  writeFileSync(join(folder, 'nginx.conf'), main)
  return await run('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { folder, port, cert })
}

export async function startHaproxy(ports: readonly number[]): Promise<Balancer> {
  const [folder, port, { key, cert }] = [makeFolder(), await freePort(), makeCertificate()]
  const pem = join(folder, 'keyrail.pem')
  writeFileSync(pem, cert + key)
  const file = fileOf('deploy/haproxy/haproxy.cfg', ports, [
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/keyrail.pem', pem],
    // The test may run as any account, with few files.
    ['maxconn 25000', 'maxconn 1000'],
    ['  user haproxy\n  group haproxy\n', ''],
  ])
  writeFileSync(join(folder, 'haproxy.cfg'), file)
  return await run('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { folder, port, cert })
}

/** Debian installs both programs where only root's PATH looks. */
async function run(
  name: string,
  args: readonly string[],
  { folder, port, cert }: { folder: string; port: number; cert: string },
): Promise<Balancer> {
  const PATH = `${process.env.PATH}:/usr/sbin`
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PATH } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => {
      output += chunk
    })
  const ended = Promise.race([once(child, 'close'), once(child, 'error')])
  const agent = new Agent({ keepAlive: true, ca: cert, servername: 'localhost' })
  const proxy = {
    name,
    ask: askThrough(agent, port, name),
    async headersOf(path: string) {
      const call = request({ host: '127.0.0.1', port, agent, path }).end()
      const [response] = (await once(call, 'response')) as [IncomingMessage]
      response.resume()
      return response.headers
    },
    async close() {
      agent.destroy()
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const isUp = () =>
    proxy.ask('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(async () => isOver(child) || (await isUp()), `${name} serves`)
  if (isOver(child)) throw new Error(`${name} ended: ${output}`)
  return proxy
}

const isOver = ({ exitCode, signalCode, pid }: ChildProcess) =>
  pid === undefined || exitCode !== null || signalCode !== null

function askThrough(agent: Agent, port: number, name: string): AskApi {
  return async (method, path, { token, body, headers = {} } = {}) => {
    const payload = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
    const call = request({
      host: '127.0.0.1',
      port,
      agent,
      method,
      path,
      headers: {
        'user-agent': `through-${name}`,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        }),
        ...headers,
      },
    })
    call.end(payload)
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    const heard = await text(response)
    const isJson = String(response.headers['content-type']).includes('json')
    return { status: response.statusCode ?? 0, body: isJson ? JSON.parse(heard) : heard }
  }
}
