import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
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

/** Answers `CONNECT` for any host with a way to the service. */
const seen: string[] = []
const proxy = http.createServer((_, response) => void response.writeHead(405).end())
proxy.on('connect', ({ url }, client) => {
  seen.push(String(url))
  const { hostname, port } = new URL(String(connection.url))
  const service = net.connect(Number(port), hostname, () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n')
    service.pipe(client).pipe(service)
  })
  service.on('error', () => client.destroy())
  client.on('error', () => service.destroy())
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

/** @returns what the program prints, and the hosts that the proxy was asked for. */
async function run(node: string, env: NodeJS.ProcessEnv, options?: string) {
  seen.length = 0
  const child = spawn(node, ['--input-type=module', '-e', program(options)], {
    env: { KEYRAIL_SECRET_KEY: String(connection.secretKey), ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  await once(child, 'close')
  return { printed: printed.trim(), asked: [...seen] }
}

const failed = /^network_error GET \/v1\/projects\/\S+ failed at http:\/\/keyrail\.example: /
const hint =
  /\. https?_proxy is set, and fetch does not use it: Node 24, and 22 from 22\.21, do with NODE_USE_ENV_PROXY=1$/i

const nodes = {
  'this Node': process.execPath,
  'Node 22': runtimePath('node22'),
  'Node 20': runtimePath('node20'),
}
for (const [name, node] of Object.entries(nodes)) {
  test(`${name}: a call that fails says that the proxy of the environment is not used`, async () => {
    for (const variable of ['HTTP_PROXY', 'http_proxy']) {
      const { printed, asked } = await run(node, { [variable]: address })
      assert.match(printed, failed)
      assert.match(printed, hint)
      assert.ok(printed.includes(`. ${variable} is set`), printed)
      assert.deepEqual(asked, [])
    }
    const safe = ", url: 'https://keyrail.example'"
    const { printed: overTls } = await run(node, { HTTPS_PROXY: address, HTTP_PROXY: address }, safe)
    assert.match(overTls, hint)
    assert.match(overTls, /\. HTTPS_PROXY is set/)
    const silent: [NodeJS.ProcessEnv, string?][] = [
      [{}],
      [{ HTTPS_PROXY: address }],
      [{ HTTP_PROXY: address, NO_PROXY: 'other.test, .example' }],
      [{ HTTP_PROXY: address }, ', fetch: (...asked) => fetch(...asked)'],
    ]
    for (const [env, options] of silent) {
      const { printed } = await run(node, env, options)
      assert.match(printed, failed)
      assert.doesNotMatch(printed, hint, JSON.stringify(env))
    }
  })

  test(`${name}: NODE_USE_ENV_PROXY=1 sends calls through the proxy, but on Node 20`, async () => {
    const { printed, asked } = await run(node, { HTTP_PROXY: address, NODE_USE_ENV_PROXY: '1' })
    if (name === 'Node 20') {
      assert.match(printed, hint)
      assert.deepEqual(asked, [])
      return
    }
    assert.equal(printed, vendor.projectId)
    assert.deepEqual(asked, ['keyrail.example:80'])
    const exempt = await run(node, {
      HTTP_PROXY: address,
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: 'keyrail.example',
    })
    assert.match(exempt.printed, failed)
    assert.doesNotMatch(exempt.printed, hint)
    assert.deepEqual(exempt.asked, [])
  })
}
