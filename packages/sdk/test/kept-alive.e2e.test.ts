import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { project, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, id } from './keys.ts'
import { answered, startRawService } from './raw-service.ts'
import { until } from './until.ts'

/** Scripts that only wait for the SDK while the service is away. */

const source = (name: string) => JSON.stringify(join(import.meta.dirname, '..', 'src', `${name}.ts`))
/** No server listens there. */
const connection = JSON.stringify({ url: 'http://127.0.0.1:2', secretKey: drawKey('krsk_live') })

const run = promisify(execFile)
async function outputOf(script: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script])
  return stdout.trim()
}

test('a script does not end while a call of the admin client waits for its retry', async () => {
  const script = `
    import { createAdmin } from ${source('admin')}
    const admin = createAdmin(${connection})
    for (const call of [() => admin.workspace.get(), () => admin.auditLogs.export()[Symbol.asyncIterator]().next()])
      await call().catch(error => console.log(error.code))`
  assert.equal(await outputOf(script), 'network_error\nnetwork_error')
})

test('a script does not end while the last usage reports wait for their retry', async () => {
  const script = `
    import { createUsageReporter } from ${source('usage/reporter')}
    const codes = []
    const usage = createUsageReporter({ ...${connection}, onError: ({ code }) => codes.push(code) })
    usage.count({ keyId: '${id(1)}' })
    await usage.close()
    console.log(codes.at(-1), usage.stats().pending)`
  assert.equal(await outputOf(script), 'usage_unsent 1')
})

test('a script does not end while an answer waits to be stored', async () => {
  const script = `
    import { createIdempotency } from ${source('idempotency/idempotent')}
    const answers = {
      claim: [{ object: 'idempotency_claim', verdict: 'execute', lock_token: 'token' }],
      complete: [null, null, { object: 'idempotency_complete', verdict: 'completed' }],
    }
    const idempotency = createIdempotency({
      ...${connection},
      project: '${id(2)}',
      onError: () => {},
      async fetch(url) {
        const answer = answers[String(url).split('/').at(-1)].shift()
        if (answer === null) throw new Error('away')
        return Response.json(answer)
      },
    })
    const key = { valid: true, keyId: 'k', tenantId: '${id(3)}', env: 'live', scopes: [] }
    const parts = { idempotencyKey: 'k', method: 'POST', target: '/', body: '' }
    const { claim } = await idempotency.claim({ key, ...parts })
    await claim.answered(201, [], new Uint8Array())
    await idempotency.close()
    console.log('left', answers.complete.length)`
  assert.equal(await outputOf(script), 'left 0')
})

test('a script ends although its connection is kept', async () => {
  const service = await startRawService(({ socket }) => void socket.write(answered('{"object":"workspace"}')))
  const settings = { url: service.url, secretKey: drawKey('krsk_live') }
  const script = `
    import { createAdmin } from ${source('admin')}
    await createAdmin(${JSON.stringify(settings)}).workspace.get()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' })
  try {
    await until(() => service.requests.length === 1, 'it calls')
    // Far earlier than the end of a connection that nobody uses.
    await until(() => child.exitCode !== null, 'it ends')
    assert.equal(child.exitCode, 0)
  } finally {
    child.kill('SIGKILL')
  }
})

for (const offersWait of [false, true])
  test(`a process runs until its keyring closes, answers ${offersWait ? 'held' : 'not held'}`, async () => {
    const service = await startFeedService()
    service.offersWait = offersWait
    const options = { url: service.url, secretKey, project, pollIntervalMs: 100 }
    // A signal listener does not keep a process alive.
    const script = `
      import { createKeyring } from ${source('keyring/keyring')}
      const keyring = createKeyring(${JSON.stringify(options)})
      process.once('SIGTERM', () => keyring.close())
      await keyring.ready()`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    try {
      const deltas = () => service.paths.filter(path => path === 'delta').length
      await until(() => deltas() >= (offersWait ? 1 : 5), 'it continues to poll')
      assert.equal(child.exitCode, null)
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    } finally {
      child.kill('SIGKILL')
      await service.close()
    }
  })
