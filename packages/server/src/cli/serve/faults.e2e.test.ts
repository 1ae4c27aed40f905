import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

describe('what may happen to a service', () => {
  let installation: Installation
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  test('the service keeps running when the reader of its output exits', async () => {
    const service = await installation.serve()
    service.child.stdout?.destroy()
    service.child.stderr?.destroy()
    // Each request logs a line, and the second line fails if the pipe is broken.
    for (let times = 0; times < 3; times += 1) assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('an uncaught error ends it with code 1, logged, and leaves no Postgres running', async () => {
    // Injected from outside, because the code has no place that fails on demand.
    const fault = `process.on('SIGUSR2', () => { throw new Error('no handler caught this') })`
    const preload = `data:text/javascript,${encodeURIComponent(fault)}`
    const command = 'packages/server/src/cli/main.ts'
    const service = await installation.listening(
      installation.run(process.execPath, ['--import', preload, command, 'serve']),
    )
    service.child.kill('SIGUSR2')
    const { code, out, err } = await service.ended
    assert.equal(code, 1)
    assert.match(out, /"level":"fatal".*no handler caught this/)
    assert.match(err, /^Error: no handler caught this$/m)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('the log is one JSON object per line, without the bootstrap token', async () => {
    const service = await installation.serve()
    const body = { name: 'Acme', slug: 'acme' }
    const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
    await until(() => service.output.out.includes('"route":"/v1/workspaces"'))
    service.child.kill('SIGTERM')
    const { out } = await service.ended
    const lines = out.split('\n').filter(line => line.startsWith('{'))
    for (const line of lines) assert.ok(JSON.parse(line).msg, line)
    assert.ok(!out.includes(installation.token) && !out.includes(made?.body.secret_key.key))
  })
})
