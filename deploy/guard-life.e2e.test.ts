import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { until } from '../packages/server/test/until.ts'
import { type GuardProgram, type Service, startGuardProgram, startService } from './guard-stage.ts'

const secret = 'a-secret-of-the-guard-and-its-proxy'

describe('a guard that stops, and the next one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-guard-life-'))
  const table = join(folder, 'routes.json')
  const running: GuardProgram[] = []
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(async () => {
    for (const guard of running) await guard.end('SIGKILL')
    await service?.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (): Promise<GuardProgram> => {
    const guard = await startGuardProgram({
      ...service.env,
      GUARD_DIRECTORY: join(folder, 'keys'),
      GUARD_DRAIN_DELAY_S: '1',
      GUARD_ROUTES: table,
      GUARD_SECRET: secret,
    })
    running.push(guard)
    return guard
  }
  const ask = async ({ url }: GuardProgram, path: string, key?: string): Promise<number> => {
    const authorization = { ...(key !== undefined && { authorization: `Bearer ${key}` }) }
    const headers = { 'x-keyrail-guard-secret': secret, ...authorization }
    return (await fetch(url + path, { headers })).status
  }

  test('SIGTERM answers and counts what is in flight; the next start reads keys from disk', async () => {
    writeFileSync(table, '{"routes":[{"path":"/orders"}]}')
    const first = await start()
    const { id, key } = await service.issue()
    await until(async () => (await ask(first, '/ext-authz/orders', key)) === 200, 'the guard knows the key')
    for (let at = 0; at < 10; at += 1) assert.equal(await ask(first, '/ext-authz/orders', key), 200)

    writeFileSync(table, '{"routes":[{"path":"/**","public":"yes"}]}')
    first.signal('SIGHUP')
    await until(() => first.output().includes('nothing was reloaded'), 'the table was refused')
    assert.match(first.output(), /routes\.0\.public must be true or false/)
    assert.deepEqual(
      [await ask(first, '/ext-authz/orders', key), await ask(first, '/ext-authz/x', key)],
      [200, 403],
    )

    const body = JSON.stringify({ key })
    const inFlight = connect(Number(new URL(first.url).port), '127.0.0.1')
    const answer = text(inFlight)
    inFlight.write(
      `POST /verify HTTP/1.1\r\nhost: x\r\nx-keyrail-guard-secret: ${secret}\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    await until(async () => (await ask(first, '/healthz')) === 200, 'the guard read the beginning')
    first.signal('SIGTERM')
    await until(async () => (await ask(first, '/readyz')) === 503, 'the guard stops')
    inFlight.write(body)
    assert.match(await answer, /^HTTP\/1\.1 200 .*"valid":true/s)
    assert.equal(await first.end(), 0, first.output())

    const { body: usage } = await service.ask('GET', `/v1/keys/${id}/usage?days=2`, {
      token: service.scene.live,
    })
    // The one that `until` got through, ten, the one after the reload, and the one in flight.
    assert.equal(usage.total, 13)

    await service.kill()
    writeFileSync(table, '{"routes":[{"path":"/orders"}]}')
    const second = await start()
    await until(async () => (await ask(second, '/readyz')) === 200, 'the guard has the keys of the disk')
    assert.deepEqual(
      [await ask(second, '/ext-authz/orders', key), await ask(second, '/ext-authz/orders')],
      [200, 401],
    )
    const metrics = await fetch(`${second.url}/metrics`, { headers: { 'x-keyrail-guard-secret': secret } })
    const shown = [first.output(), second.output(), await metrics.text()].join('\n')
    for (const hidden of [secret, key, service.scene.live, id]) assert.ok(!shown.includes(hidden), shown)
  })
})
