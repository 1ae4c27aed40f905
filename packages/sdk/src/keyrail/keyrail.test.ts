import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { drawKey, id } from '../../test/keys.ts'
import { startKeyrail } from '../../test/service.ts'
import { createTestKeyring } from '../testing.ts'
import { createKeyrail, type Keyrail } from './keyrail.ts'
import type { KeyrailOptions } from './options.ts'

const { service, vendor, settings, issue } = await startKeyrail()
const { url, secretKey, project } = settings
const parts = ['keys', 'limiter', 'idempotency', 'usage', 'admin', 'embed'] as const
const month = { id: 'month', limit: 1, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
/** So short that the service holds no answer, which would delay closing a keyring. */
const brief = { cachedTtlMs: 10_000 }

/** One that records its calls of the service. */
function open(options: KeyrailOptions = {}): { keyrail: Keyrail; asked: string[] } {
  const asked: string[] = []
  const kept: typeof fetch = (where, init) => {
    asked.push(`${init?.method} ${new URL(String(where)).pathname}`)
    return fetch(where, init)
  }
  // A busy machine may take longer than a limiter waits by default.
  const limiter = { timeoutMs: 60_000 }
  const keyrail = createKeyrail({ url, secretKey, project, keys: brief, limiter, fetch: kept, ...options })
  return { keyrail, asked }
}

async function usageOf(keyId: string): Promise<number> {
  const { body } = await service.ask('GET', `/v1/keys/${keyId}/usage?days=90`, { token: vendor.live })
  return body.total
}

test('one connection serves all parts, each with its own options', async () => {
  const failures: string[] = []
  const { keyrail } = open({
    keys: { ...brief, node: 'one-shape' },
    idempotency: { maxBodyBytes: 7 },
    onError: ({ code }) => failures.push(code),
  })
  await keyrail.ready()
  const { id: keyId, key } = await issue({ rate_limits: [month] })
  const { keys, limiter, idempotency, usage, admin } = keyrail
  assert.equal(keys.stats().node, 'one-shape')
  assert.equal(idempotency.maxBodyBytes, 7)
  const { admin: later } = keyrail
  assert.equal(later, admin)
  const fresh = createKeyrail({ url, secretKey, project, keys: brief })
  await fresh.ready()
  const verdict = fresh.keys.verify(key)
  assert.ok(verdict.valid)
  assert.deepEqual(
    [(await limiter.limit(verdict)).code, (await limiter.limit(verdict)).code],
    ['allowed', 'rate_limited'],
  )
  const claim = { key: verdict, idempotencyKey: randomUUID(), method: 'POST', target: '/', body: '' }
  const claimed = await idempotency.claim(claim)
  assert.equal(claimed.verdict, 'execute')
  if (claimed.verdict === 'execute') await claimed.claim.release()
  usage.count(verdict, 3)
  assert.equal((await admin.keys.get(keyId)).id, keyId)
  await Promise.all([keyrail.close(), fresh.close()])
  assert.equal(await usageOf(keyId), 3)
  assert.deepEqual(failures, [])
})

test('a part is made when it is first used, and not by close()', async () => {
  const { keyrail, asked } = open()
  assert.deepEqual(JSON.parse(JSON.stringify(keyrail)), {})
  assert.ok(!inspect(keyrail, { depth: 9, showHidden: true }).includes(secretKey))
  await keyrail.close()
  assert.deepEqual(asked, [])
})

test('close sends the counts first, runs once, and leaves no part usable', async () => {
  const { id: keyId } = await issue()
  const { keyrail, asked } = open()
  await keyrail.ready()
  asked.splice(0)
  const { keys } = keyrail
  keyrail.usage.count({ keyId }, 2)
  await assert.rejects(keyrail.close({ timeoutMs: -1 }), /timeoutMs must be an integer/)
  assert.equal(keyrail.keys, keys, 'a wrong option closes nothing')
  const ended = keyrail.close()
  assert.ok(keys.stats().keys > 0, 'keys are verified while counts are sent')
  await Promise.all([ended, keyrail.close()])
  assert.equal(await usageOf(keyId), 2)
  assert.equal(asked.filter(call => call === 'POST /v1/usage/reports').length, 1)
  assert.equal(keys.stats().keys, 0)
  for (const part of parts) {
    const closed = { name: 'KeyrailError', code: 'closed', message: `keyrail.${part} was used after close()` }
    assert.throws(() => keyrail[part], closed)
  }
  await assert.rejects(keyrail.ready(), { code: 'closed' })
})

test('await using closes it at the end of its scope', async () => {
  const keys = await (async () => {
    await using keyrail = open().keyrail
    await keyrail.ready()
    return keyrail.keys
  })()
  assert.equal(keys.stats().keys, 0)
  assert.equal(keys.verify(createTestKeyring().issue().key).code, 'not_ready')
})

test('ready() rejects if the keyring can never load', async () => {
  await using keyrail = createKeyrail({ url, secretKey: drawKey('krsk_live'), project, onError: () => {} })
  await assert.rejects(keyrail.ready(), { code: 'unauthenticated' })
})

test('missing options come from the environment, and only parts that need a project ask for one', async () => {
  const given = { KEYRAIL_URL: url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project }
  Object.assign(process.env, given)
  const keyrail = createKeyrail({ keys: brief })
  delete process.env.KEYRAIL_PROJECT
  const unsent: string[] = []
  const homeless = createKeyrail({ onError: ({ code }) => unsent.push(code) })
  for (const name of Object.keys(given)) delete process.env[name]
  await keyrail.ready()
  assert.equal((await homeless.admin.projects.get(project)).id, project)
  homeless.usage.count({ keyId: id(1) })
  for (const part of ['keys', 'limiter', 'idempotency'] as const) {
    assert.throws(() => homeless[part], {
      name: 'TypeError',
      message: 'project is not given, and KEYRAIL_PROJECT is not set',
    })
  }
  await keyrail.close()
  await homeless.close({ timeoutMs: 0 })
  assert.deepEqual(unsent, ['usage_unsent'], 'timeoutMs of close bounds the sending')
  assert.throws(() => createKeyrail(), { message: 'url is not given, and KEYRAIL_URL is not set' })
})

test('a wrong option of any part is named by the error, which shows no secret', () => {
  const least = { url, secretKey, project }
  for (const [options, message] of [
    [secretKey, 'createKeyrail takes an object of options'],
    [{ ...least, baseUrl: url }, 'createKeyrail has no option "baseUrl": it is called "url"'],
    [
      { ...least, keys: { cacheDirectory: '/tmp' } },
      'keys of createKeyrail has no option "cacheDirectory": it is called "cacheDir"',
    ],
    [{ ...least, limiter: { project } }, 'limiter of createKeyrail has no option "project"'],
    [{ ...least, idempotency: { onError() {} } }, 'idempotency of createKeyrail has no option "onError"'],
    [{ ...least, usage: { fetch } }, 'usage of createKeyrail has no option "fetch"'],
    [{ ...least, admin: { secretKey } }, 'admin of createKeyrail has no option "secretKey"'],
    [{ ...least, usage: null }, 'usage of createKeyrail takes an object of options'],
    [{ ...least, url: secretKey }, 'url must be an http or https address, such as https://keys.example.com'],
    [{ ...least, url: `https://${secretKey}@keys.test` }, 'url must have no user, query or fragment'],
    [{ ...least, project: secretKey }, 'project must be a uuid'],
    [{ ...least, secretKey: `${secretKey}x` }, /^secretKey has 49 characters instead of 48/],
    [{ ...least, url: 'http://keys.test' }, /^url is http, and keys.test is not this machine/],
    [{ ...least, insecure: 'yes' }, 'insecure must be true or false'],
    [{ ...least, fetch: 1 }, 'fetch must be a function'],
    [{ ...least, onError: 1 }, 'onError must be a function'],
  ] as const) {
    assert.throws(
      () => createKeyrail(options as KeyrailOptions),
      (error: Error) => {
        assert.ok(error instanceof TypeError && !String(error.stack).includes(secretKey.slice(10)))
        if (typeof message === 'string') assert.equal(error.message, message)
        else assert.match(error.message, message)
        return true
      },
    )
  }
  const { keyrail } = open({ keys: { pollIntervalMs: 1 } })
  assert.throws(() => keyrail.keys, /pollIntervalMs must be an integer/)
})
