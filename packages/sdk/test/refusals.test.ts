import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { issueKey, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { createKeyrail, type Keyrail } from '../src/keyrail/keyrail.ts'
import type { KeyrailOptions } from '../src/keyrail/options.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import { createUsageReporter } from '../src/usage/reporter.ts'
import { withKey } from '../src/web.ts'
import { drawKey } from './keys.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

const { service, connection } = await startKeyrail()
const { ask } = service

type Answer = { body: Record<string, unknown>; status: number }

/** A vendor with a keyrail that records what it sends. `alter` may change what the service answers. */
async function open(
  more: KeyrailOptions & { secretKey?: string } = {},
  alter: (path: string, answer: Answer) => Answer | undefined = () => undefined,
) {
  const vendor = await makeVendor(service)
  const { live, projectId } = vendor
  const sent: { report_id: string; env: string; records: { reason: string; count: number }[] }[] = []
  const errors: string[] = []
  const keyrail = createKeyrail({
    url: connection.url,
    secretKey: live,
    project: projectId,
    // So short that the service holds an answer only briefly.
    keys: { cachedTtlMs: 10_000, ...more.keys },
    limiter: { timeoutMs: 60_000 },
    // Tests send by hand.
    usage: { flushIntervalMs: 3_600_000 },
    onError: ({ code }) => void errors.push(code),
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url))
      if (init?.method === 'POST' && pathname === '/v1/usage/refusals')
        sent.push(JSON.parse(String(init?.body)))
      // The harness stops the clock of the process, from which a node learns the time.
      service.clock.set(Date.now())
      const answer = await fetch(url, init)
      const read = { status: answer.status, body: (await answer.json()) as Answer['body'] }
      const { body, status } = alter(pathname, read) ?? read
      // The headers of a held answer say that it was held.
      const headers = new Headers(answer.headers)
      for (const name of ['content-encoding', 'content-length']) headers.delete(name)
      return Response.json(body, { status, headers })
    },
    ...('secretKey' in more && { secretKey: more.secretKey }),
  })
  after(() => keyrail.close())
  await keyrail.ready()
  const handle = withKey(keyrail, () => new Response('ok'), { scopes: ['orders:read'] })
  return {
    vendor,
    keyrail,
    sent,
    errors,
    /** The status with which a guard answers a request. */
    request: async (key: string, guard = handle) =>
      (await guard(new Request('http://api.test/', { headers: { authorization: `Bearer ${key}` } }))).status,
    issue: (extra: Record<string, unknown> = {}) =>
      issueKey(service, vendor, { scopes: ['orders:read'], ...extra }),
    /** Changes something, and waits until the keyring has it. */
    async change(method: string, path: string, body: object = {}) {
      const { status } = await ask(method, path, { token: live, body })
      assert.ok(status < 300, `${path} ${status}`)
      await isCurrent(keyrail, live, projectId)
    },
    current: () => isCurrent(keyrail, live, projectId),
    counts: (query = '') => countsOf(live, query),
  }
}

async function isCurrent(keyrail: Keyrail, token: string, projectId: string): Promise<void> {
  const { body } = await ask('GET', `/v1/projects/${projectId}`, { token })
  await until(() => (keyrail.keys.stats().version ?? 0) >= body.policy_version, 'the keyring is current')
}

async function countsOf(token: string, query: string): Promise<Record<string, number>> {
  const { body } = await ask('GET', `/v1/usage/refusals?${query}`, { token })
  return Object.fromEntries(
    body.data.map(({ reason, count }: { reason: string; count: number }) => [reason, count]),
  )
}

test('a guard counts each refused request by its reason, and nothing else', async () => {
  const { keyrail, request, issue, change, current, counts, sent, errors } = await open()
  const month = { id: 'month', limit: 1, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
  const keys = {
    good: await issue(),
    other: await issue({ scopes: ['orders:write'] }),
    limited: await issue({ rate_limits: [month] }),
    revoked: await issue(),
  }
  await current()
  await change('POST', `/v1/keys/${keys.revoked.id}/revoke`)
  const statuses = [
    await request(keys.good.key),
    await request(keys.other.key),
    await request(keys.limited.key),
    await request(keys.limited.key),
    await request(keys.limited.key),
    await request(keys.revoked.key),
    await request(drawKey('kr_live')),
    await request(drawKey('kr_live')),
    await request('no key at all'),
    await request(''),
    await request(drawKey('kr_test')),
  ]
  assert.deepEqual(statuses, [200, 403, 200, 429, 429, 401, 401, 401, 401, 401, 401])
  await keyrail.usage.flush()
  await keyrail.usage.flush()
  assert.deepEqual(await counts(), {
    rate_limited: 2,
    unknown_key: 2,
    insufficient_scope: 1,
    revoked_key: 1,
  })
  assert.deepEqual([sent.length, sent[0]?.env, errors], [1, 'live', []])
  const { total, data } = await keyrail.admin.usage.refusals({ days: 1 })
  assert.deepEqual([total, data[0]], [6, { reason: 'rate_limited', count: 2 }])
  await keyrail.close()
})

test('an expired key is counted, and close sends what is left', async () => {
  const { keyrail, request, issue, current, counts } = await open()
  const brief = await issue({ expires_at: new Date(Date.now() + 2_000).toISOString() })
  await current()
  await until(async () => (await request(brief.key)) === 401, 'the key has expired')
  await keyrail.close()
  assert.deepEqual(await counts(), { expired_key: 1 })
})

test('keys.verify counts what it refuses, and a guard that counts nothing counts no refusal', async () => {
  const { keyrail, request, issue, current, counts } = await open()
  const { key } = await issue()
  await current()
  const silent = withKey(keyrail, () => new Response('ok'), { usage: false })
  assert.equal(await request(drawKey('kr_live'), silent), 401)
  assert.equal(keyrail.keys.verify(drawKey('kr_live')).code, 'unknown_key')
  assert.equal(keyrail.keys.verify(key, { scopes: ['admin'] }).code, 'insufficient_scope')
  assert.equal(keyrail.keys.verify(key).code, 'valid')
  await keyrail.usage.flush()
  assert.deepEqual(await counts(), { insufficient_scope: 1, unknown_key: 1 })
  await keyrail.close()
})

test('nothing is sent when nothing was refused', async () => {
  const { keyrail, request, issue, current, sent } = await open()
  const { key } = await issue()
  await current()
  assert.equal(await request(key), 200)
  await keyrail.usage.flush()
  await keyrail.close()
  assert.deepEqual(sent, [])
})

test('a node of both environments counts in each, and one of a test key in test alone', async () => {
  const { keyrail, counts, sent } = await open({ keys: { env: 'both' } })
  for (const prefix of ['kr_live', 'kr_test', 'kr_test']) keyrail.keys.verify(drawKey(prefix))
  await keyrail.usage.flush()
  assert.deepEqual(
    [await counts('env=live'), await counts('env=test')],
    [{ unknown_key: 1 }, { unknown_key: 2 }],
  )
  assert.deepEqual(
    sent.map(({ env }) => env),
    ['live', 'test'],
  )
  await keyrail.close()

  const { live, test: secretKey, projectId } = await makeVendor(service)
  await using ofTest = createKeyrail({ url: connection.url, secretKey, project: projectId })
  await ofTest.ready()
  ofTest.keys.verify(drawKey('kr_test'))
  ofTest.keys.verify(drawKey('kr_live'))
  await ofTest.usage.flush()
  assert.deepEqual(
    [await countsOf(live, 'env=live'), await countsOf(live, 'env=test')],
    [{}, { unknown_key: 1 }],
  )
})

test('parts that were made one by one count with a guard that has both', async () => {
  const { live, projectId } = await makeVendor(service)
  const shared = { url: connection.url, secretKey: live }
  await using keyring = createKeyring({ ...shared, project: projectId, cachedTtlMs: 10_000 })
  await using usage = createUsageReporter(shared)
  await keyring.ready()
  const guard = withKey(keyring, () => new Response('ok'), { usage, limiter: false })
  const headers = { authorization: `Bearer ${drawKey('kr_live')}` }
  assert.equal((await guard(new Request('http://api.test/', { headers }))).status, 401)
  await usage.flush()
  assert.deepEqual(await countsOf(live, ''), { unknown_key: 1 })
})

test('an older service, whose feed names nothing, is sent nothing', async () => {
  const { keyrail, sent, errors } = await open({}, (path, answer) => {
    const { takes_refusals: _, ...older } = answer.body
    return path.startsWith('/v1/policy/') ? { ...answer, body: older } : undefined
  })
  keyrail.keys.verify(drawKey('kr_live'))
  await keyrail.usage.flush()
  await keyrail.close()
  assert.deepEqual([sent, errors], [[], []])
})

test('a service that becomes older is not asked again until its feed names refusals', async () => {
  let isOld = false
  const { keyrail, sent, errors, issue, current, counts } = await open({}, (path, answer) => {
    const { takes_refusals: _, ...older } = answer.body
    if (isOld && path.startsWith('/v1/policy/')) return { ...answer, body: older }
    return isOld && path === '/v1/usage/refusals'
      ? { status: 404, body: { code: 'not_found', status: 404 } }
      : undefined
  })
  keyrail.keys.verify(drawKey('kr_live'))
  await keyrail.usage.flush()
  assert.deepEqual([sent.length, await counts()], [1, { unknown_key: 1 }])
  isOld = true
  for (let round = 0; round < 3; round++) {
    keyrail.keys.verify(drawKey('kr_live'))
    await keyrail.usage.flush()
  }
  const asked = sent.length
  await issue()
  await current()
  keyrail.keys.verify(drawKey('kr_live'))
  await keyrail.usage.flush()
  assert.deepEqual([sent.length <= asked, errors], [true, []])
  isOld = false
  await issue()
  await current()
  keyrail.keys.verify(drawKey('kr_live'))
  await keyrail.usage.flush()
  assert.equal(sent.length, asked + 1)
  assert.deepEqual(
    sent.at(-1)?.records.map(({ count }) => count),
    [1],
  )
  await keyrail.close()
})

test('a report without an answer is sent again unchanged, and counted once', async () => {
  let isLost = true
  const { keyrail, sent, errors, counts } = await open({}, path => {
    if (path !== '/v1/usage/refusals' || !isLost) return undefined
    throw new TypeError('the answer is lost')
  })
  keyrail.keys.verify(drawKey('kr_live'))
  await keyrail.usage.flush()
  keyrail.keys.verify(drawKey('kr_live'))
  isLost = false
  await keyrail.usage.flush()
  assert.deepEqual(sent[1], sent[0])
  assert.notEqual(sent[2]?.report_id, sent[0]?.report_id)
  assert.deepEqual([sent.length, await counts(), errors], [3, { unknown_key: 2 }, []])
  await keyrail.close()
})

test('a key that may not report sends nothing, and ready says once what is not counted', async () => {
  const { live, projectId } = await makeVendor(service)
  const permissions = ['policy:read', 'ratelimit:check']
  const { key: secretKey } = await makeSecretKey(service, { live }, { permissions })
  const errors: string[] = []
  const asked: string[] = []
  await using keyrail = createKeyrail({
    url: connection.url,
    secretKey,
    project: projectId,
    keys: { cachedTtlMs: 10_000 },
    onError: ({ code }) => void errors.push(code),
    fetch: (url, init) => {
      asked.push(new URL(String(url)).pathname)
      return fetch(url, init)
    },
  })
  const guard = withKey(keyrail, () => new Response('ok'))
  await keyrail.ready()
  const headers = { authorization: `Bearer ${drawKey('kr_live')}` }
  await guard(new Request('http://api.test/', { headers }))
  await keyrail.usage.flush()
  await keyrail.usage.flush()
  assert.ok(!asked.includes('/v1/usage/refusals'))
  assert.deepEqual(errors, ['insufficient_permission'])
})
