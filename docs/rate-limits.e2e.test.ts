import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimitCheck } from '@keyrail/contract/ratelimit'
import { Redis } from 'ioredis'
import { serviceBudgets } from '../packages/server/src/platform/budgets.ts'
import { mostBytes, mostItems, mostWaiting } from '../packages/server/src/platform/concurrency/batching.ts'
import { lookMs } from '../packages/server/src/ratelimit/redis/cluster-map.ts'
import { connectionOptions, retryMs } from '../packages/server/src/ratelimit/redis/node.ts'
import { graceMs, mostCounters } from '../packages/server/src/ratelimit/store.ts'
import { used } from '../packages/server/src/ratelimit/window.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { openWatched, someCheck } from '../packages/server/test/redis-counters.ts'
import { startRedis } from '../packages/server/test/redis-server.ts'
import { until } from '../packages/server/test/until.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/rate-limits.md')
const said = (number: number) => number.toLocaleString('en')

test('the worked example gets the answers of the page', async () => {
  const harness = await startHarness()
  const { live } = await makeVendor(harness)
  const [body, first, fourth] = codeBlocks(section(page, 'A worked example')).map(({ text }) =>
    JSON.parse(text),
  )
  const check = () => harness.ask('POST', '/v1/ratelimit/check', { token: live, body })
  const morning = Date.UTC(2026, 0, 31, 8, 40)
  await harness.setStoreTime(new Date(morning))
  assert.deepEqual(await check().then(heard => [heard.status, heard.body]), [200, first])
  await check()
  await check()
  await harness.setStoreTime(new Date(morning + 45_000))
  assert.deepEqual(await check().then(heard => [heard.status, heard.body]), [200, fourth])
})

test('the remaining share of the previous window matches the page', () => {
  assert.deepEqual(figuresMissing(section(page, 'How it counts'), ['30 %', '57 of 81']), [])
  const rule = { id: 'a', limit: 100, window_ms: 60_000, algorithm: 'sliding', scope: 'key' } as const
  const cell = { start: 0, previous: 81, current: 0 }
  assert.equal(used(cell, rule, rule.window_ms * 0.3), 57)
})

test('the bounds match the API and the store', () => {
  const { limits, cost } = RateLimitCheck.properties
  const { limit, window_ms } = limits.items.properties
  const boundsOf = (schema: object) => schema as { minimum: number; maximum: number; maxItems: number }
  const range = (schema: object) => `${said(boundsOf(schema).minimum)} to ${said(boundsOf(schema).maximum)}`
  const bounds = new Map(tableOf(section(page, 'Bounds')).map(([what = '', bound = '']) => [what, bound]))
  const has = (what: string, part: string) =>
    assert.ok(bounds.get(what)?.startsWith(part), `${what}: ${bounds.get(what)}, not ${part}`)
  has('`limits`', `1 to ${boundsOf(limits).maxItems}`)
  has('`limit`', range(limit))
  has('`window_ms`', range(window_ms))
  has('`cost`', range(cost))
  has('counters of one key or tenant', said(mostCounters))
  has('checks of one call of the store', `${mostItems}, and ${mostBytes / 1024} KiB`)
  has('checks that wait', said(mostWaiting))
  assert.equal(boundsOf(window_ms).maximum, 31 * 86_400_000)
})

test('the times match the service', () => {
  assert.ok(serviceBudgets.requestMs < 2_000)
  const seconds = [connectionOptions.socketTimeout, graceMs].map(milliseconds => `${milliseconds / 1000} s`)
  assert.deepEqual(figuresMissing(page, [...seconds, `${retryMs} ms`, `${lookMs} ms`]), [])
})

test('a user with the rights of the page can count, on one server and in a cluster', async () => {
  const [rights = ''] = /ACL SETUSER .*/.exec(page) ?? []
  for (const settings of [[], ['--cluster-enabled', 'yes']]) {
    const server = await startRedis(settings)
    const admin = new Redis(server.url)
    if (settings.length > 0) await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await admin.call('ACL', ...rights.replace('PASSWORD', 's3cret%').split(' ').slice(1))
    await until(
      async () =>
        settings.length === 0 || /cluster_state:ok/.test(String(await admin.call('CLUSTER', 'INFO'))),
    )
    const { store, logged } = await openWatched(server.url.replace('//', '//keyrail:s3cret%25@'))
    await admin.script('FLUSH')
    assert.equal((await store.check(someCheck())).allowed, true)
    await admin.script('FLUSH')
    assert.equal((await store.check(someCheck())).allowed, true)
    assert.deepEqual(logged, [])
    assert.deepEqual(await admin.call('ACL', 'LOG'), [])
    admin.disconnect()
  }
})
