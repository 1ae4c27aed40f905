import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, until } from './test-keyrail.ts'

describe('what may happen to a service', () => {
  let installation: Installation
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  test('whoever reads its output may go away', async () => {
    const service = await installation.serve()
    service.child.stdout?.destroy()
    service.child.stderr?.destroy()
    // Each request is a line of the log, and by the second one the pipe is known to be broken.
    for (let times = 0; times < 3; times += 1) assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('an error that nobody caught ends it with code 1, logged, and without a Postgres left behind', async () => {
    // Put in from outside: the code has no place that fails at a wish.
    const fault = `process.on('SIGUSR2', () => { throw new Error('nobody caught this') })`
    const preload = `data:text/javascript,${encodeURIComponent(fault)}`
    const command = 'packages/server/src/cli/main.ts'
    const service = await installation.listening(
      installation.run(process.execPath, ['--import', preload, command, 'serve']),
    )
    service.child.kill('SIGUSR2')
    const { code, out, err } = await service.ended
    assert.equal(code, 1)
    assert.match(out, /"level":"fatal".*nobody caught this/)
    assert.match(err, /^Error: nobody caught this$/m)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('the log is JSON, a line each, with nothing of the bootstrap token', async () => {
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
