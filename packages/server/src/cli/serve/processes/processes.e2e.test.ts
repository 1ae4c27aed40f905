import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { clientOf, type Heard, oneConnection } from '../../../../test/connected-client.ts'
import { figuresOf } from '../../../../test/figures.ts'
import { Installation, looksLikeStack, type Serving } from '../../../../test/installation.ts'
import type { AskApi } from '../../../../test/mutations.ts'
import { until } from '../../../../test/until.ts'
import { issueKey, makeScene } from '../../../../test/vendor.ts'
import { readConfig } from '../../../config.ts'
import { connectionsOfAll } from '../../../platform/db/pool/connection-need.ts'

const settings = { SERVICE_PROCESSES: '2', SERVICE_METRICS_PORT: '0', SERVICE_DASHBOARD: 'off' }

const linesOf = ({ output }: Serving) =>
  output.out
    .split('\n')
    .slice(0, -1)
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))

/** The pids of the processes that serve, by their place. */
function workersOf(installation: Installation, { url }: Serving): number[] {
  const primary = installation.listenerOf(url)
  const children = readFileSync(`/proc/${primary}/task/${primary}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').map(Number)
}

const metricsOf = (service: Serving): string =>
  linesOf(service).find(({ msg }) => msg === 'listening')?.metrics_url

const readFigures = async (service: Serving) => figuresOf(await (await fetch(metricsOf(service))).text())

/** The place of the process that answered, from the line of the request. */
async function placeOf(service: Serving, { headers }: Heard): Promise<number> {
  const id = headers['x-request-id']
  let place: number | undefined
  await until(() => {
    place = linesOf(service).find(line => line.request_id === id)?.worker
    return place !== undefined
  }, `the request ${id} is logged`)
  return place ?? 0
}

describe('several processes', () => {
  let installation: Installation
  let service: Serving
  before(async () => {
    installation = new Installation(settings)
    service = await installation.serve()
    // The line comes a moment after the one for people.
    await until(() => linesOf(service).some(({ msg }) => msg === 'listening'))
  })
  after(() => installation.remove())

  test('requests are served by each, and one port has the figures of all', async () => {
    const client = clientOf(service.url, false)
    const places = new Set<number>()
    const before = (await readFigures(service)).get('keyrail_requests_total{outcome="answered"}') ?? 0
    for (let asked = 0; asked < 6; asked += 1) {
      const heard = await client('GET', '/v1/openapi.json')
      assert.equal(heard.status, 200)
      places.add(await placeOf(service, heard))
    }
    assert.deepEqual([...places].sort(), [1, 2])
    const figures = await readFigures(service)
    assert.equal(figures.get('keyrail_requests_total{outcome="answered"}'), before + 6)
    assert.equal(figures.get('keyrail_processes'), 2)
    assert.equal(figures.get('keyrail_database_up'), 1)
  })

  test('a revocation in one wakes the polls that each of them holds', async () => {
    const clients = [oneConnection(service.url), oneConnection(service.url)]
    const [first = clients[0], second = clients[1]] = clients
    assert.ok(first && second)
    const places = []
    for (const client of clients) places.push(await placeOf(service, await client('GET', '/v1/openapi.json')))
    assert.deepEqual(places.sort(), [1, 2])
    const scene = await makeScene(first, installation.token)
    const { id } = await issueKey({ ask: first }, scene)
    const project = await first('GET', `/v1/projects/${scene.projectId}`, { token: scene.live })
    const { policy_version: since } = project.body
    const held = clients.map(client =>
      client('GET', `/v1/policy/delta?project_id=${scene.projectId}&env=live&since=${since}&node=n`, {
        token: scene.live,
        headers: { prefer: 'wait=50' },
      }),
    )
    await until(async () => (await readFigures(service)).get('keyrail_held_polls') === 2)
    const revoked = await oneConnection(service.url)('POST', `/v1/keys/${id}/revoke`, {
      token: scene.live,
      body: {},
    })
    assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
    for (const poll of held) {
      const { status, body } = await poll
      assert.equal(status, 200)
      assert.ok(JSON.stringify(body).includes(id))
    }
  })

  test('they open no more connections together than the operator counts', async () => {
    const client = clientOf(service.url, false)
    const scene = await makeScene(client, installation.token)
    await Promise.all(Array.from({ length: 60 }, () => issueKey({ ask: client }, scene)))
    await readFigures(service)
    const backends = installation.postgresPids().filter(pid => {
      const path = `/proc/${pid}/cmdline`
      return existsSync(path) && readFileSync(path, 'utf8').includes('keyrail_service')
    })
    const most = connectionsOfAll(readConfig(settings).config)
    assert.ok(backends.length > 4 && backends.length <= most, `${backends.length} of ${most}`)
  })

  test('each letter is sent once, by one of them', async () => {
    const client = clientOf(service.url, false)
    const mail = join(installation.dataDir, 'mail')
    const people = Array.from({ length: 4 }, (_, i) => `person-${i}@example.com`)
    for (const email of people) {
      const body = { email, password: 'a walk in the park' }
      assert.equal((await client('POST', '/v1/auth/users', { body })).status, 202)
    }
    const lettersTo = (email: string) =>
      readdirSync(mail)
        .filter(name => name.endsWith('.eml'))
        .filter(name => readFileSync(join(mail, name), 'utf8').includes(`\nTo: ${email}`)).length
    await until(async () => {
      const waiting = (await readFigures(service)).get('keyrail_mail_queue_messages{state="waiting"}')
      return waiting === 0 && people.every(email => lettersTo(email) > 0)
    })
    for (const email of people) assert.equal(lettersTo(email), 1, email)
  })

  test('one that is killed is replaced, is counted, and nothing that was confirmed is lost', async () => {
    const client = clientOf(service.url, false)
    const scene = await makeScene(client, installation.token)
    const { id } = await issueKey({ ask: client }, scene)
    const before = workersOf(installation, service)
    const counted = await readFigures(service)
    const [killed = 0] = before
    process.kill(killed, 'SIGKILL')
    await until(() => {
      const now = workersOf(installation, service)
      return now.length === 2 && !now.includes(killed)
    })
    await until(async () => (await readFigures(service)).get('keyrail_processes') === 2)
    const figures = await readFigures(service)
    assert.equal(figures.get('keyrail_processes_replaced_total'), 1)
    const answered = 'keyrail_requests_total{outcome="answered"}'
    assert.ok((figures.get(answered) ?? 0) >= (counted.get(answered) ?? 0))
    for (let asked = 0; asked < 4; asked += 1)
      assert.equal((await client('GET', `/v1/keys/${id}`, { token: scene.live })).status, 200)
  })

  test('a rolling restart replaces each and refuses no request, on new and on kept connections', async () => {
    const scene = await makeScene(clientOf(service.url, false), installation.token)
    const before = workersOf(installation, service)
    const statuses = new Map<unknown, number>()
    let isOver = false
    const load = async (client: AskApi) => {
      while (!isOver) {
        const path = `/v1/projects/${scene.projectId}`
        const status = await client('GET', path, { token: scene.live }).then(
          answer => answer.status,
          error => error.code ?? error.message,
        )
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    const loads = [
      ...Array.from({ length: 3 }, () => load(clientOf(service.url, false))),
      ...Array.from({ length: 3 }, () => load(oneConnection(service.url))),
    ]
    service.child.kill('SIGHUP')
    await until(() => service.output.out.includes('rolling restart done'))
    isOver = true
    await Promise.all(loads)
    assert.deepEqual([...statuses.keys()], [200])
    const now = workersOf(installation, service)
    assert.equal(now.length, 2)
    assert.deepEqual(
      now.filter(pid => before.includes(pid)),
      [],
    )
    assert.equal((await readFigures(service)).get('keyrail_processes_replaced_total'), 1)
  })

  test('SIGTERM lets a running request end, and leaves no process and no Postgres', async () => {
    const pids = [installation.listenerOf(service.url), ...workersOf(installation, service)]
    const body = JSON.stringify({ name: 'Acme', slug: 'under-way' })
    const half = request(`${service.url}/v1/workspaces`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${installation.token}`,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    })
    const answer = once(half, 'response')
    half.flushHeaders()
    await once(half, 'continue')
    service.child.kill('SIGTERM')
    await until(() => service.output.out.includes('"msg":"stopping"'))
    half.end(body)
    const [{ statusCode }] = (await answer) as [IncomingMessage]
    assert.equal(statusCode, 201)
    const { code, out } = await service.ended
    assert.equal(code, 0)
    assert.doesNotMatch(out, /cut off/)
    assert.deepEqual(installation.postgresPids(), [])
    for (const pid of pids) assert.ok(!existsSync(`/proc/${pid}`), `${pid}`)
  })
})

describe('several processes that cannot start', () => {
  let installation: Installation
  before(() => {
    installation = new Installation(settings)
  })
  after(() => installation.remove())

  test('a port that is taken ends the start with its reason', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { code, err } = await installation.start(['serve'], { SERVICE_PORT: String(port) }).ended
    taken.close()
    assert.equal(code, 1)
    assert.match(err, new RegExp(`127.0.0.1:${port} is in use by another program`))
    assert.ok(!looksLikeStack(err))
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('with a drain delay none is ready, all serve on, and a second signal ends the delay', async () => {
    const service = await installation.serve({ SERVICE_DRAIN_DELAY_S: '300' })
    const client = clientOf(service.url, false)
    service.child.kill('SIGTERM')
    await until(async () => {
      const asked = [1, 2, 3, 4].map(() => client('GET', '/readyz'))
      return (await Promise.all(asked)).every(({ status }) => status === 503)
    })
    assert.equal((await client('GET', '/healthz')).status, 200)
    await until(() => {
      service.child.kill('SIGTERM')
      return service.output.out.includes('"msg":"stopped"')
    })
    assert.equal((await service.ended).code, 0)
  })

  test('processes that end as soon as they serve are given up, and the service ends with an error', async () => {
    const service = await installation.serve()
    const primary = installation.listenerOf(service.url)
    const [kept = 0] = workersOf(installation, service)
    let isOver = false
    service.ended.then(() => {
      isOver = true
    })
    await until(() => {
      if (isOver) return true
      try {
        for (const pid of workersOf(installation, service)) if (pid !== kept) process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended already.
      }
      return false
    })
    const { code, err } = await service.ended
    assert.equal(code, 1)
    assert.match(err, /ended/)
    assert.ok(!existsSync(`/proc/${primary}`))
    assert.deepEqual(installation.postgresPids(), [])
  })
})
