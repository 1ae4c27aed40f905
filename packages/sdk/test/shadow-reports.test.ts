import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openImport } from '../../server/test/importing.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { createKeyrail } from '../src/keyrail/keyrail.ts'
import type { KeyrailOptions } from '../src/keyrail/options.ts'
import { withKey } from '../src/web.ts'
import { drawKey } from './keys.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

const { service, connection } = await startKeyrail()
const { ask } = service
const month = { id: 'month', limit: 1, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }

/** A vendor with a keyrail, and what the service knows of its requests. */
async function open(keys: KeyrailOptions['keys'] = {}) {
  const vendor = await makeVendor(service)
  const { live: token, projectId } = vendor
  const errors: string[] = []
  const keyrail = createKeyrail({
    url: connection.url,
    secretKey: token,
    project: projectId,
    // So short that the service holds an answer only briefly.
    keys: { cachedTtlMs: 10_000, ...keys },
    limiter: { timeoutMs: 60_000 },
    // Tests send by hand.
    usage: { flushIntervalMs: 3_600_000 },
    onError: ({ code }) => void errors.push(code),
    fetch: (url, init) => {
      // The harness stops the clock of the process, from which a node learns the time.
      service.clock.set(Date.now())
      return fetch(url, init)
    },
  })
  after(() => keyrail.close())
  await keyrail.ready()
  const current = async () => {
    const { body } = await ask('GET', `/v1/projects/${projectId}`, { token })
    await until(() => (keyrail.keys.stats().version ?? 0) >= body.policy_version, 'the keyring is current')
  }
  return {
    vendor,
    keyrail,
    errors,
    current,
    async issue(more: Record<string, unknown> = {}) {
      const issued = await issueKey(service, vendor, more)
      await current()
      return issued
    },
    /** Refusals by reason, then the counts of shadow. */
    async counted(query = '') {
      const { body } = await ask('GET', `/v1/usage/refusals?${query}`, { token })
      const byReason = (counts: { reason: string; count: number }[]) =>
        Object.fromEntries(counts.map(({ reason, count }) => [reason, count]))
      const { agreed, accepted, refused, guards } = body.shadow
      return [byReason(body.data), { agreed, accepted, refused: byReason(refused), guards: byReason(guards) }]
    },
  }
}

const nothing = { agreed: 0, accepted: 0, refused: {}, guards: {} }

const bearing = (key: string) =>
  new Request('http://api.test/', { headers: key === '' ? {} : { authorization: `Bearer ${key}` } })

test('compare of a program without a guard reaches the service, by the close at the latest', async () => {
  for (const shadow of [true, false]) {
    const { keyrail, issue, counted, errors } = await open({ shadow })
    const { key } = await issue()
    const { keys } = keyrail
    for (const accepted of [true, false]) {
      keys.compare(key, accepted)
      keys.compare(drawKey('kr_live'), accepted)
      keys.compare('an old key', accepted)
      keys.compare(key, accepted, { scopes: ['admin'] })
    }
    for (const accepted of [true, false]) keys.compare(null, accepted)
    await keyrail.close()
    const refused = { unknown_key: 1, malformed_key: 1, insufficient_scope: 1, missing_key: 1 }
    assert.deepEqual(await counted(), [{}, { agreed: 4, accepted: 1, refused, guards: {} }])
    assert.deepEqual(errors, [])
  }
})

test('a wrong option of usage fails no request of a program that compares', async () => {
  const reported: string[] = []
  const keyrail = createKeyrail({
    ...connection,
    project: '0192f7a0-0000-7000-8000-000000000000',
    keys: { shadow: true },
    usage: { flushIntervalMs: 50 },
    onError: ({ code, message }) => void reported.push(`${code}: ${message}`),
  })
  after(() => keyrail.close())
  for (let i = 0; i < 2; i++) assert.equal(keyrail.keys.compare(drawKey('kr_live'), true).code, 'not_ready')
  const [message = '', ...others] = reported.filter(text => text.startsWith('misused'))
  assert.match(message, /^misused: What compare counts is not reported: flushIntervalMs must be/)
  assert.deepEqual(others, [])
})

test('a guard and verify in shadow report what they would refuse, and no refusal', async () => {
  const { vendor, keyrail, issue, counted } = await open({ shadow: true })
  const { key, id } = await issue({ rate_limits: [month], scopes: ['read'] })
  const guard = withKey(keyrail, () => new Response('ok'), { scopes: ['read'] })
  for (const sent of [key, key, key, '', 'an old key', drawKey('kr_test')])
    assert.equal((await guard(bearing(sent))).status, 200)
  keyrail.keys.verify(key, { scopes: ['admin'] })
  keyrail.keys.verify(key)
  await keyrail.usage.flush()
  const guards = { rate_limited: 2, missing_key: 1, malformed_key: 1, wrong_env: 1, insufficient_scope: 1 }
  assert.deepEqual(await counted(), [{}, { ...nothing, guards }])
  assert.deepEqual(await counted('env=test'), [{}, nothing])
  const { shadow, data } = await keyrail.admin.usage.refusals({ days: 1 })
  assert.deepEqual([shadow.guards[0], data], [{ reason: 'rate_limited', count: 2 }, []])
  const { body } = await ask('GET', `/v1/keys/${id}/usage?days=1`, { token: vendor.live })
  assert.equal(body.total, 3)
})

test('a request that several guards in shadow judge counts once', async () => {
  const { keyrail, issue, counted } = await open({ shadow: true })
  const { key } = await issue({ rate_limits: [month], scopes: ['read'] })
  const inner = withKey(keyrail, () => new Response('ok'), { scopes: ['write'] })
  const outer = withKey(keyrail, request => inner(request))
  // Valid for the first guard, over the limit for both, and of no scope for the second.
  for (const sent of [key, key, drawKey('kr_live')]) assert.equal((await outer(bearing(sent))).status, 200)
  await keyrail.usage.flush()
  const guards = { insufficient_scope: 1, rate_limited: 1, unknown_key: 1 }
  assert.deepEqual(await counted(), [{}, { ...nothing, guards }])
})

test('a refused key that was imported counts in its own environment, on a node of both', async () => {
  const { vendor, keyrail, current, counted } = await open({ env: 'both' })
  const { answer, row } = openImport(service, vendor)
  const texts = { live: 'old-key-of-live-0001', test: 'old-key-of-test-0001' } as const
  const ids: string[] = []
  for (const env of ['live', 'test'] as const) {
    const { rows } = await answer([row(texts[env])], { env })
    ids.push(rows[0].id)
  }
  await current()
  for (const text of Object.values(texts)) keyrail.keys.verify(text, { scopes: ['admin'] })
  for (const id of ids) await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await current()
  for (const text of Object.values(texts)) assert.equal(keyrail.keys.verify(text).code, 'revoked_key')
  keyrail.keys.compare(texts.test, true)
  keyrail.keys.compare('never-seen', true)
  await keyrail.usage.flush()
  const refusals = { insufficient_scope: 1, revoked_key: 1 }
  assert.deepEqual(
    [await counted('env=live'), await counted('env=test')],
    [
      [refusals, { ...nothing, refused: { unknown_key: 1 } }],
      [refusals, { ...nothing, refused: { revoked_key: 1 } }],
    ],
  )
})
