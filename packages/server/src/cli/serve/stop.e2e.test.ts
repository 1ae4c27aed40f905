import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ask, Installation, type Serving } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

/** Begins to create a workspace; the service waits for the body until `finish`. */
async function halfAsked({ url }: Serving, token: string, slug: string) {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify({ name: 'Acme', slug })
  const half = request(`${url}/v1/workspaces`, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': body.length,
      expect: '100-continue',
    },
  })
  const answer = once(half, 'response').then(([response]) => response as IncomingMessage)
  answer.catch(() => {})
  const cut = new Promise<void>(resolve => half.once('error', () => resolve()))
  half.flushHeaders()
  // Sent once the service has the head and waits for the rest.
  await once(half, 'continue')
  return { answer, cut, finish: () => half.end(body) }
}

const isStopping = ({ output }: Serving) => output.out.includes('"msg":"stopping"')

describe('stopping', () => {
  let installation: Installation
  before(async () => {
    installation = new Installation()
  })
  after(() => installation.remove())

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`${signal} lets a running request end, accepts no other, and then stops Postgres`, async () => {
      const service = await installation.serve()
      assert.ok(installation.postgresPids().length > 0)
      const slug = `under-${signal.toLowerCase()}`
      const { answer, finish } = await halfAsked(service, installation.token, slug)
      service.child.kill(signal)
      await until(async () => isStopping(service) && (await ask(`${service.url}/healthz`)) === null)
      finish()
      assert.equal((await answer).statusCode, 201)
      const { code, out } = await service.ended
      assert.equal(code, 0)
      assert.match(out, /"msg":"stopped"/)
      assert.doesNotMatch(out, /cut off/, 'it does not wait for idle connections')
      assert.deepEqual(installation.postgresPids(), [])

      const again = await installation.serve()
      const repeat = { token: installation.token, body: { name: 'Acme', slug } }
      assert.equal((await ask(`${again.url}/v1/workspaces`, repeat))?.body.code, 'slug_taken')
      again.child.kill('SIGTERM')
      await again.ended
    })
  }

  test('a second Ctrl-C cuts off running requests, and Postgres still stops in order', async () => {
    const service = await installation.serve()
    const { cut } = await halfAsked(service, installation.token, 'never-finished')
    service.child.kill('SIGINT')
    await until(() => isStopping(service))
    let isCut = false
    cut.then(() => {
      isCut = true
    })
    // For a moment, further signals count as the same Ctrl-C, so a person repeats it until it works.
    await until(() => {
      service.child.kill('SIGINT')
      return isCut
    })
    const { code, out } = await service.ended
    assert.equal(code, 0)
    assert.match(out, /requests were cut off/)
    assert.match(out, /"msg":"stopped"/)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('with a delay it serves on, is not ready, and a second signal ends the delay', async () => {
    const service = await installation.serve({ SERVICE_DRAIN_DELAY_S: '300' })
    service.child.kill('SIGTERM')
    await until(async () => (await ask(`${service.url}/readyz`))?.status === 503)
    assert.equal((await ask(`${service.url}/healthz`))?.status, 200)
    // Signals within 300 ms count as one.
    await setTimeout(600)
    service.child.kill('SIGTERM')
    const { code, out } = await service.ended
    assert.equal(code, 0)
    assert.match(out, /"delay_s":300,"msg":"stopping"/)
    assert.match(out, /"msg":"stopped"/)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('npm start stops the same way, signalled alone or with its whole process group', async () => {
    for (const [signal, group] of [
      ['SIGTERM', false],
      ['SIGINT', false],
      ['SIGINT', true],
    ] as const) {
      const service = await installation.listening(installation.run('npm', ['start']))
      const pid = service.child.pid ?? 0
      process.kill(group ? -pid : pid, signal)
      const { code, out } = await service.ended
      assert.equal(code, 0)
      assert.match(out, /"msg":"stopped"/)
      assert.deepEqual(installation.postgresPids(), [])
    }
  })

  test('a signal during the very first start ends it, and Postgres with it', async () => {
    const fresh = new Installation()
    const starting = fresh.start(['serve'])
    await until(() => existsSync(fresh.dataDir))
    starting.child.kill('SIGINT')
    const { code, out, err } = await starting.ended
    assert.equal(code, 0, out + err)
    assert.deepEqual(fresh.postgresPids(), [])
    const service = await fresh.serve()
    service.child.kill('SIGINT')
    assert.equal((await service.ended).code, 0)
    await fresh.remove()
  })
})
