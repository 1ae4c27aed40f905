import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { makeDatabase, type TestDatabase, testCluster } from '../packages/server/test/database.ts'
import { until } from '../packages/server/test/until.ts'
import { makeScene, type Scene, uniqueSlug } from '../packages/server/test/vendor.ts'
import {
  type Balancer,
  bootstrapToken,
  type Process,
  startHaproxy,
  startNginx,
  startProcesses,
} from './proxy-stage.ts'

describe('behind the shipped files of nginx and HAProxy', () => {
  let processes: Process[]
  let database: TestDatabase | undefined
  let removeProcesses: (() => Promise<void>) | undefined
  const proxies: Balancer[] = []
  let scene: Scene
  before(async () => {
    database = await makeDatabase(testCluster())
    const { processes: started, remove } = await startProcesses(database.connection)
    removeProcesses = remove
    processes = started
    const ports = started.map(({ port }) => port)
    for (const start of [startNginx, startHaproxy]) proxies.push(await start(ports))
    scene = await makeScene((proxies[0] as Balancer).ask, bootstrapToken)
  })
  after(async () => {
    for (const proxy of proxies) await proxy.close()
    await removeProcesses?.()
    await database?.drop()
  })

  test('the largest body that the service takes passes, and a held poll is answered in its time', async () => {
    const { live, projectId } = scene
    for (const { name, ask } of proxies) {
      const held = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
      const fingerprint = randomBytes(32).toString('hex')
      const claim = await ask('POST', '/v1/idempotency/claim', {
        token: live,
        body: { ...held, fingerprint },
      })
      assert.equal(claim.body.verdict, 'execute', name)
      const complete = {
        ...held,
        lock_token: claim.body.lock_token,
        status: 200,
        body: randomBytes(4_718_592).toString('base64'),
      }
      const body = JSON.stringify(complete).padEnd(8_388_608)
      const completed = await ask('POST', '/v1/idempotency/complete', { token: live, body })
      assert.deepEqual([completed.status, completed.body.verdict], [200, 'completed'], name)

      const poll = `/v1/policy/delta?project_id=${projectId}&node=${uniqueSlug('node')}`
      const newest = await ask('GET', `${poll}&since=0`, { token: live })
      const quiet = await ask('GET', `${poll}&since=${newest.body.version}`, {
        token: live,
        headers: { prefer: 'wait=3' },
      })
      assert.equal(quiet.status, 200, name)
    }
  })

  test('answers and refusals demand TLS from browsers for a year', async () => {
    for (const { name, headersOf } of proxies)
      for (const path of ['/healthz', '/v1/keys'])
        assert.equal(
          (await headersOf(path))['strict-transport-security'],
          'max-age=31536000; includeSubDomains',
          `${name} ${path}`,
        )
  })

  test('the service sees the address of the client, not that of the proxy', async () => {
    for (const { name, ask } of proxies) {
      await ask('GET', '/v1/projects', { headers: { 'x-forwarded-for': '203.0.113.9' } })
      const line = new RegExp(`"ip":"127\\.0\\.0\\.1","user_agent":"through-${name}"`)
      await until(() => processes.some(({ log }) => line.test(log())))
    }
  })

  test('HAProxy ends the poll that a hanging process holds', async () => {
    const { live, projectId } = scene
    const { ask } = proxies.find(({ name }) => name === 'haproxy') as Balancer
    const poll = `/v1/policy/delta?project_id=${projectId}&node=${uniqueSlug('node')}`
    const { body } = await ask('GET', `${poll}&since=0`, { token: live })
    const answer = ask('GET', `${poll}&since=${body.version}`, {
      token: live,
      headers: { prefer: 'wait=30' },
    }).then(
      ({ status }) => status,
      () => 'cut',
    )
    const holds = (text: string) => /^keyrail_held_polls 1$/m.test(text)
    await until(async () => (await Promise.all(processes.map(each => each.metrics()))).some(holds))
    const pids = processes.flatMap(({ serving }) =>
      serving.child.pid === undefined ? [] : [-serving.child.pid],
    )
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const heard = await answer
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    // 504 would be the time limit of a request.
    assert.ok(heard === 'cut' || heard === 502 || heard === 503, String(heard))
  })
})

/** A process that is ready, and dies with every other request that it has received. */
async function startDying(onRequest: () => void): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url === '/readyz') return void response.end()
    onRequest()
    request.socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

for (const [start, method, isRepeated] of [
  [startNginx, 'POST', false],
  [startNginx, 'PATCH', false],
  [startNginx, 'DELETE', true],
  [startHaproxy, 'POST', false],
  [startHaproxy, 'PATCH', false],
  [startHaproxy, 'DELETE', false],
] as const) {
  const repeats = isRepeated ? 'sends again' : 'does not repeat'
  test(`${start.name.slice(5)} ${repeats} a ${method} that a process has received`, async t => {
    let received = 0
    const servers = await Promise.all(
      [1, 2, 3].map(() =>
        startDying(() => {
          received += 1
        }),
      ),
    )
    t.after(() => {
      for (const server of servers) server.close().closeAllConnections()
    })
    const proxy = await start(servers.map(server => (server.address() as AddressInfo).port))
    t.after(() => proxy.close())
    const heard = await proxy.ask(method, '/v1/projects').then(
      ({ status }) => status,
      () => 'cut',
    )
    assert.ok(heard === 502 || heard === 'cut', String(heard))
    assert.equal(received > 1, isRepeated, `${received}`)
    assert.ok(received > 0)
  })
}
