import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { launchBrowser } from '../server/test/browser.ts'
import { makeDatabase, testCluster } from '../server/test/database.ts'
import { Installation, type Running, root, urlOf } from '../server/test/installation.ts'
import { until } from '../server/test/until.ts'
import { copyDashboard } from './test/checkout.ts'

const database = await makeDatabase(testCluster(), true)
const installation = new Installation({ DATABASE_URL: urlOf(database.connection), KEYRAIL_DEV_PORT: '0' })
after(async () => {
  await installation.remove()
  await database.drop()
})

/** Waits for the address that Vite prints. */
async function addressOf({ output, ended }: Running): Promise<string> {
  let isOver = false
  ended.then(() => {
    isOver = true
  })
  const printed = /Local: +(http:\S+)/
  await until(() => isOver || printed.test(output.out))
  const address = printed.exec(output.out)?.[1]
  assert.ok(address, `it ended: ${output.out}${output.err}`)
  return address
}

async function freePort(): Promise<number> {
  const socket = createSocket().listen(0, '127.0.0.1')
  await new Promise(resolve => socket.once('listening', resolve))
  const { port } = socket.address() as AddressInfo
  await new Promise(resolve => socket.close(resolve))
  return port
}

test('npm run dev starts a service, serves the dashboard in front of it, and ends both', async () => {
  const port = String(await freePort())
  const running = installation.run('npm', ['run', 'dev', '-w', 'packages/dashboard'], { SERVICE_PORT: port })
  const address = await addressOf(running)
  for (const path of ['/app/', '/app/keys', '/verify-email']) {
    const response = await fetch(new URL(path, address), { headers: { accept: 'text/html' } })
    assert.match(await response.text(), /src="\/app\/src\/main\.tsx/, path)
  }
  const answer = await fetch(new URL('/v1/auth/me', address))
  const { code } = (await answer.json()) as { code: string }
  assert.deepEqual([answer.status, code], [401, 'unauthenticated'])
  // As a terminal does, because npm and its shell pass nothing on.
  process.kill(-Number(running.child.pid), 'SIGTERM')
  await running.ended
  await until(
    async () =>
      await fetch(`http://127.0.0.1:${port}/healthz`).then(
        () => false,
        () => true,
      ),
  )
})

test('beside a service that listens, a changed source shows without a reload by hand', async () => {
  const service = createServer((_request, response) => response.end('the service')).listen(0, '127.0.0.1')
  after(() => service.close())
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-dev-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const copy = copyDashboard(folder)
  await until(() => service.listening)
  const { port } = service.address() as AddressInfo
  const running = installation.run(
    process.execPath,
    ['--conditions=keyrail-source', join(copy.folder, 'dev.ts')],
    { SERVICE_PORT: String(port) },
    root,
  )
  const address = await addressOf(running)
  assert.equal(await (await fetch(new URL('/v1/anything', address))).text(), 'the service')
  const browser = await launchBrowser()
  after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(address)
  await page.waitForFunction(`document.title === 'first'`)
  copy.write('src/main.tsx', `document.title = 'second'\n`)
  await page.waitForFunction(`document.title === 'second'`)
  running.child.kill('SIGTERM')
  await running.ended
})
