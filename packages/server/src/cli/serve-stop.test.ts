import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, Installation, type Serving, until } from './test-keyrail.ts'

/** Creates a workspace over a connection that stays open; the service waits for the body until `finish`. */
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
    test(`${signal} lets a request end that is under way, takes no other, and then stops Postgres`, async () => {
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
      assert.doesNotMatch(out, /cut off/, 'a connection kept alive behind its answer is not waited for')
      assert.deepEqual(installation.postgresPids(), [])

      const again = await installation.serve()
      const repeat = { token: installation.token, body: { name: 'Acme', slug } }
      assert.equal((await ask(`${again.url}/v1/workspaces`, repeat))?.body.code, 'slug_taken')
      again.child.kill('SIGTERM')
      await again.ended
    })
  }

  test('a second Ctrl-C cuts off what is under way, and Postgres is still stopped in order', async () => {
    const service = await installation.serve()
    const { cut } = await halfAsked(service, installation.token, 'never-finished')
    service.child.kill('SIGINT')
    await until(() => isStopping(service))
    let isCut = false
    cut.then(() => {
      isCut = true
    })
    // The first moments count as the same Ctrl-C, so a person presses until it helps.
    while (!isCut) {
      service.child.kill('SIGINT')
      await sleep(50)
    }
    const { code, out } = await service.ended
    assert.equal(code, 0)
    assert.match(out, /requests were cut off/)
    assert.match(out, /"msg":"stopped"/)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('npm start stops the same way, told alone or with its whole group as by a terminal', async () => {
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

  test('a signal during the very first start ends it without a trace of Postgres', async () => {
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
