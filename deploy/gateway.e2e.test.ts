import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { codeBlocks, readDocument } from '../docs/documents.ts'
import { createKeyring } from '../packages/sdk/src/index.ts'
import { project, secretKey, startFeedService } from '../packages/sdk/test/feed-service.ts'
import { drawKey, policyKey } from '../packages/sdk/test/keys.ts'
import { freePort } from '../packages/server/test/free-port.ts'
import { until } from '../packages/server/test/until.ts'
import { checkGateway } from './check-gateway.ts'

/** Runs the files of `docs/sdk/behind-a-gateway.md` between nodes and a service, and wrong ones made of them. */

const service = await startFeedService()
service.offersWait = true
const key = drawKey()
service.upsert(policyKey(key, 1))
after(() => service.close())

const blockOf = (language: string): string => {
  const block = codeBlocks(readDocument('docs/sdk/behind-a-gateway.md')).find(
    each => each.language === language,
  )
  assert.ok(block, `the page has a block of ${language}`)
  return block.text
}

/** Replaces texts that the file must contain. */
const edited = (file: string, edits: readonly [from: string | RegExp, to: string][]): string =>
  edits.reduce((text, [from, to]) => {
    const made = text.replace(from, to)
    assert.notEqual(made, text, `the file has ${from}`)
    return made
  }, file)

type Edits = readonly [from: string | RegExp, to: string][]

async function startNginx(edits: Edits = [], http = '') {
  const folder = makeFolder()
  const port = await freePort()
  const server = edited(blockOf('nginx'), [
    ['127.0.0.1:8079', `127.0.0.1:${port}`],
    ['https://keyrail.example.com', service.url],
    ...edits,
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = `daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 64; }
http {
  access_log off;
  ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
  ${http.replace('FOLDER', folder)}
  ${server}
}
`
  writeFileSync(join(folder, 'nginx.conf'), main)
  return await run('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], folder, port)
}

async function startHaproxy(edits: Edits = []) {
  const folder = makeFolder()
  const port = await freePort()
  const file = edited(blockOf('haproxy'), [
    ['127.0.0.1:8079', `127.0.0.1:${port}`],
    [/keyrail\.example\.com:443 ssl .*/, new URL(service.url).host],
    ...edits,
  ])
  writeFileSync(join(folder, 'haproxy.cfg'), `global\n  maxconn 100\n\n${file}\n`)
  return await run('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], folder, port)
}

/** A folder that the account of the proxy can read. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-gateway-'))
  chmodSync(folder, 0o755)
  return folder
}

/** Debian installs both programs where only root's PATH looks. */
async function run(name: string, args: readonly string[], folder: string, port: number) {
  const PATH = `${process.env.PATH}:/usr/sbin`
  const child = spawn(name, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH } })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const ended = Promise.race([once(child, 'close'), once(child, 'error')])
  after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await until(async () => {
    assert.equal(child.exitCode, null, `${name}: ${output}`)
    return await takes(port)
  }, `${name} listens`)
  return { url: `http://127.0.0.1:${port}`, secretKey, project }
}

async function takes(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

for (const [name, start, hasty] of [
  ['nginx', startNginx, ['proxy_read_timeout 75s', 'proxy_read_timeout 1s']],
  ['HAProxy', startHaproxy, ['timeout server 75s', 'timeout server 1s']],
] as const) {
  test(`behind the page’s file of ${name}, nothing is found, and a change arrives while held`, async () => {
    const connection = await start()
    const { ok, findings, heldMs } = await checkGateway({ ...connection, holdSeconds: 3 })
    assert.deepEqual([ok, findings], [true, []])
    assert.ok(heldMs >= 2_900, `${heldMs} ms`)
    await using keyring = createKeyring({ ...connection, pollIntervalMs: 50_000 })
    await keyring.ready()
    await until(() => /wait=2\d/.test(String(service.asked.at(-1)?.headers.prefer)))
    const fresh = drawKey()
    service.upsert(policyKey(fresh, 2))
    await until(() => keyring.verify(fresh).valid)
  })

  test(`a ${name} that gives up early is found, and nodes serve on`, async () => {
    const connection = await start([[hasty[0], hasty[1]]])
    const { ok, findings } = await checkGateway({ ...connection, holdSeconds: 3 })
    assert.equal(ok, false)
    assert.match(findings.join(), /may hold for 3 s failed after 1(?:\.\d)? s \(status 504\)/)
    const errors: string[] = []
    const options = { ...connection, pollIntervalMs: 100, onError: ({ code = '' }) => errors.push(code) }
    await using keyring = createKeyring(options)
    await keyring.ready()
    await until(() => errors.length > 0 && keyring.stats().polls.unchanged > 1)
    assert.deepEqual([new Set(errors), keyring.verify(key).valid], [new Set(['http_504']), true])
  })
}

test('the check runs as a program of Node alone, and exits with what it found', async () => {
  const folder = makeFolder()
  after(() => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, 'check-gateway.ts')
  cpSync(join(import.meta.dirname, 'check-gateway.ts'), copy)
  const connection = await startNginx([['proxy_read_timeout 75s', 'proxy_read_timeout 1s']])
  const env = {
    KEYRAIL_URL: connection.url,
    KEYRAIL_SECRET_KEY: connection.secretKey,
    KEYRAIL_PROJECT: connection.project,
  }
  const child = spawn(process.execPath, [copy], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  assert.match(said, /may hold for 25 s failed after 1(?:\.\d)? s/)
  assert.equal(code, 1)
})

test('an nginx that caches and ignores the nonce is found, and nodes behind it go stale', async () => {
  const caches = `proxy_cache feed; proxy_cache_key $uri$arg_max_keys$arg_cursor$arg_since; proxy_cache_valid 200 1h;
    proxy_ignore_headers Cache-Control Expires;`
  const connection = await startNginx(
    [['proxy_cache off;', caches]],
    'proxy_cache_path FOLDER/kept keys_zone=feed:1m;',
  )
  const { ok, findings } = await checkGateway({ ...connection, holdSeconds: 1 })
  assert.equal(ok, false)
  assert.match(findings.join(), /same time, as from a cache/)
  await using keyring = createKeyring({
    ...connection,
    pollIntervalMs: 100,
    cachedTtlMs: 1_000,
    onError: () => {},
  })
  await keyring.ready()
  await until(() => !keyring.verify(key).valid)
  assert.equal(keyring.verify(key).code, 'stale')
})
