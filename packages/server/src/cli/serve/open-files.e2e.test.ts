import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { ask, Installation, urlOf } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'
import { readAll } from '../../../test/wire.ts'

const filesMax = 256

test('with 256 open files the service refuses connections, logs it, and still serves', async () => {
  const database = await makeDatabase(testCluster())
  const installation = new Installation({
    DATABASE_URL: urlOf(database.connection),
    SERVICE_DASHBOARD: 'off',
  })
  after(async () => {
    await installation.remove()
    await database.drop()
  })
  const limited = [`--nofile=${filesMax}`, process.execPath, 'bin/keyrail.mjs', 'serve']
  const service = await installation.listening(installation.run('prlimit', limited))
  const bound = /"connections":(\d+),"open_files":256,"msg":"the limit of 256 open files bounds connections"/
  // The line may come after the banner, which another process prints.
  await until(() => bound.test(service.output.out))
  const allowed = Number(bound.exec(service.output.out)?.[1])
  assert.ok(allowed > 100 && allowed < filesMax, service.output.out)
  const { port } = new URL(service.url)
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const held: Socket[] = []
  for (let i = 0; i < filesMax; i += 1) held.push(await open())
  await until(() => /as many as the limit of 256 open files allows are open/.test(service.output.out))
  // A sign-in opens a connection of the pool, and a thread for the password.
  const body = JSON.stringify({ email: 'ann@example.com', password: 'a walk in the park' })
  const head = ['POST /v1/auth/sessions HTTP/1.1', 'host: here', 'connection: close']
  const type = ['content-type: application/json', `content-length: ${body.length}`]
  const [first] = held
  assert.ok(first)
  first.write(`${[...head, ...type].join('\r\n')}\r\n\r\n${body}`)
  assert.match(await readAll(first), /^HTTP\/1\.1 401 .*invalid_credentials/s)
  for (const socket of held) socket.destroy()
  await until(async () => (await ask(`${service.url}/readyz`))?.status === 200)
  service.child.kill('SIGTERM')
  assert.equal((await service.ended).code, 0)
})
