import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { after, test } from 'node:test'
import tls from 'node:tls'
import { makeCertificate } from '../../../server/test/certificate.ts'
import { bundle } from '../../test/bundled.ts'
import { installRuntimes, runtimePath } from '../../test/runtimes.ts'
import { startKeyrail } from '../../test/service.ts'

/** A process of each Node reads a project of a service that only a proxy on loopback can reach. */
const { connection, vendor } = await startKeyrail()
await installRuntimes()
const folder = await mkdtemp(join(tmpdir(), 'keyrail-proxy-'))
after(() => rm(folder, { recursive: true, force: true }))
// Node 20 reads no TypeScript.
const sources = new URL('../admin.ts', import.meta.url)
await bundle({ entries: { admin: sources.pathname }, into: folder, conditions: ['node', 'import'] })

const { hostname, port } = new URL(String(connection.url))
const certificate = makeCertificate('keyrail.example')
const authority = join(folder, 'authority.pem')
await writeFile(authority, certificate.cert)
/** The service over TLS. */
const front = tls.createServer(certificate, client =>
  connectBoth(client, net.connect(Number(port), hostname)),
)
await once(front.listen(0, '127.0.0.1'), 'listening')
after(() => front.close())

function connectBoth(client: Duplex, service: Duplex): void {
  service.pipe(client).pipe(service)
  service.on('error', () => client.destroy())
  client.on('error', () => service.destroy())
}

/** Forwards requests, and answers `CONNECT` for any host with a way to the service. */
const seen: string[] = []
let refuses = false
const proxy = http.createServer(({ url, method, headers }, response) => {
  seen.push(`${method} ${new URL(String(url)).host}`)
  const { pathname: path } = new URL(String(url))
  http.get({ hostname, port, path, headers }, answer => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
})
proxy.on('connect', ({ url }, client) => {
  seen.push(`CONNECT ${url}`)
  if (refuses) {
    client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    return
  }
  client.write('HTTP/1.1 200 OK\r\n\r\n')
  const isTls = String(url).endsWith(':443')
  connectBoth(client, net.connect(isTls ? (front.address() as AddressInfo).port : Number(port), hostname))
})
await once(proxy.listen(0, '127.0.0.1'), 'listening')
after(() => proxy.close())
const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

const program = (options = '') => `
  import { createAdmin } from ${JSON.stringify(join(folder, 'admin.js'))}
  const admin = createAdmin({ url: 'http://keyrail.example', insecure: true, maxRetries: 0${options} })
  admin.projects.get('${vendor.projectId}').then(
    ({ id }) => console.log(id),
    ({ code, message }) => console.log(code, message),
  )`

/** @returns what the program prints, and what the proxy was asked for */
async function run(node: string, env: NodeJS.ProcessEnv, options?: string) {
  seen.length = 0
  const child = spawn(node, ['--input-type=module', '-e', program(options)], {
    env: { KEYRAIL_SECRET_KEY: String(connection.secretKey), NODE_EXTRA_CA_CERTS: authority, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  await once(child, 'close')
  return { printed: printed.trim(), asked: [...seen] }
}

const overTls = ", url: 'https://keyrail.example'"
const byFetch = ', fetch: globalThis.fetch'
const failed = /^network_error GET \/v1\/projects\/\S+ failed at https?:\/\/keyrail\.example: /
const hint =
  /\. https?_proxy is set, and this Node does not use it: Node 24 does from 24\.5 on, and 22 from 22\.21$/i
const fetchHint =
  /\. https?_proxy is set, and fetch does not use it: Node 24, and 22 from 22\.21, do with NODE_USE_ENV_PROXY=1$/i

const nodes = { 'this Node': process.execPath, 'Node 22': runtimePath('node22') }
for (const [name, node] of Object.entries(nodes)) {
  test(`${name}: calls go through the proxy of the environment, over TLS in a tunnel`, async () => {
    const ways: [NodeJS.ProcessEnv, string | undefined, string][] = [
      [{ HTTP_PROXY: address }, undefined, 'GET keyrail.example'],
      [{ http_proxy: address, HTTP_PROXY: 'http://127.0.0.1:2' }, undefined, 'GET keyrail.example'],
      [{ HTTPS_PROXY: address, HTTP_PROXY: 'http://127.0.0.1:2' }, overTls, 'CONNECT keyrail.example:443'],
      [{ HTTP_PROXY: address }, overTls, 'CONNECT keyrail.example:443'],
      [{ HTTPS_PROXY: address.slice('http://'.length) }, overTls, 'CONNECT keyrail.example:443'],
      [
        { HTTP_PROXY: address, NO_PROXY: 'other.test, keyrail.example:8443' },
        undefined,
        'GET keyrail.example',
      ],
    ]
    for (const [env, options, asked] of ways)
      assert.deepEqual(await run(node, env, options), { printed: vendor.projectId, asked: [asked] })
  })

  test(`${name}: a host in NO_PROXY, another protocol and this machine take no proxy`, async () => {
    for (const env of [
      {},
      { HTTPS_PROXY: address },
      { HTTP_PROXY: address, NO_PROXY: 'other.test, .example' },
      { HTTP_PROXY: address, NO_PROXY: 'keyrail.example:80' },
    ]) {
      const { printed, asked } = await run(node, env)
      assert.match(printed, failed)
      assert.doesNotMatch(printed, hint, JSON.stringify(env))
      assert.deepEqual(asked, [])
    }
    const local = await run(node, { HTTP_PROXY: address }, `, url: '${connection.url}'`)
    assert.deepEqual(local, { printed: vendor.projectId, asked: [] })
  })

  test(`${name}: a proxy that refuses, or is no address, is named without its password`, async () => {
    refuses = true
    const guarded = address.replace('//', '//user:password-of-proxy@')
    const tunnel = await run(node, { HTTPS_PROXY: guarded }, overTls)
    refuses = false
    const wrong = await run(node, { HTTPS_PROXY: 'socks5://password-of-proxy' }, overTls)
    assert.match(tunnel.printed, /: ERR_PROXY_TUNNEL, the proxy of the environment opens no way to it$/)
    assert.match(
      wrong.printed,
      /: ERR_PROXY_INVALID_CONFIG, the proxy of the environment is no http or https address$/,
    )
    for (const { printed } of [tunnel, wrong]) assert.doesNotMatch(printed, /password-of-proxy/)
  })

  test(`${name}: NODE_USE_ENV_PROXY=1 leaves the way of fetch to it, and names nothing`, async () => {
    const env = { HTTP_PROXY: address, NODE_USE_ENV_PROXY: '1' }
    assert.deepEqual(await run(node, env), {
      printed: vendor.projectId,
      asked: ['CONNECT keyrail.example:80'],
    })
    const exempt = await run(node, { ...env, NO_PROXY: 'keyrail.example' })
    assert.match(exempt.printed, failed)
    assert.doesNotMatch(exempt.printed, hint)
    assert.deepEqual(exempt.asked, [])
  })
}

test('a Node whose agent takes no proxy says so when a call fails', async () => {
  const node = runtimePath('node20')
  const silent = ', fetch: (...asked) => fetch(...asked)'
  const cases: [NodeJS.ProcessEnv, string | undefined, RegExp | undefined][] = [
    [{ HTTP_PROXY: address }, undefined, hint],
    [{ http_proxy: address, NODE_USE_ENV_PROXY: '1' }, undefined, hint],
    [{ HTTPS_PROXY: address, HTTP_PROXY: address }, overTls, hint],
    [{}, undefined, undefined],
    [{ HTTPS_PROXY: address }, undefined, undefined],
    [{ HTTP_PROXY: address, NO_PROXY: 'other.test, .example' }, undefined, undefined],
    [{ HTTP_PROXY: address }, silent, undefined],
    [{ HTTP_PROXY: address }, byFetch, fetchHint],
  ]
  for (const [env, options, said] of cases) {
    const { printed, asked } = await run(node, env, options)
    assert.match(printed, failed)
    if (said) assert.match(printed, said)
    else assert.doesNotMatch(printed, / is set, and /)
    assert.deepEqual(asked, [])
  }
})

test('the global fetch, given as the option, says that it uses no proxy', async () => {
  for (const node of Object.values(nodes)) {
    const { printed } = await run(node, { HTTPS_PROXY: address }, overTls + byFetch)
    assert.match(printed, fetchHint)
    assert.match(printed, /\. HTTPS_PROXY is set/)
  }
})
