import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresFrom, figuresOf } from './figures.ts'
import { startHarness } from './harness.ts'
import { newScope, openCalls } from './idempotency-calls.ts'
import { issueKey, makeVendor } from './vendor.ts'

const harness = await startHarness()
const { ask, query, deps } = harness
const vendor = await makeVendor(harness)
const { live, projectId } = vendor
const read = figuresFrom(deps.metrics)

test('every lane has its durations, errors and reconnections from the start', async () => {
  const figures = figuresOf(await deps.metrics.text())
  const lanes = deps.lanes.depths().map(({ lane }) => lane)
  assert.ok(lanes.length >= 10)
  for (const lane of lanes)
    for (const name of ['duration_seconds_count', 'batch_items_count', 'errors_total', 'reconnects_total'])
      assert.ok(figures.has(`keyrail_lane_${name}{lane="${lane}"}`), `${lane} ${name}`)
})

test('a lane that loses its connection while it is idle counts one reconnection and no error', async () => {
  const of = (name: string) => `keyrail_lane_${name}{lane="credential"}`
  const names = ['duration_seconds_count', 'errors_total', 'reconnects_total'].map(of)
  const use = async () => assert.equal((await ask('GET', '/v1/workspace', { token: live })).status, 200)
  await use()
  const [batches = 0, errors = 0, reconnects = 0] = await read(...names)
  assert.ok(batches >= 1)
  await query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and application_name = 'keyrail lanes reads'`,
  )
  await use()
  assert.deepEqual(await read(...names), [batches + 1, errors, reconnects + 1])
})

test('verdicts of rate limits and claims are counted by verdict', async () => {
  const { id } = await issueKey(harness, vendor)
  const check = () =>
    ask('POST', '/v1/ratelimit/check', {
      token: live,
      body: {
        project_id: projectId,
        env: 'live',
        key_id: id,
        limits: [{ id: 'a', limit: 1, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
      },
    })
  for (const _ of [1, 2, 3]) assert.equal((await check()).status, 200)
  const scope = newScope()
  for (const _ of [1, 2]) await openCalls(ask, live).claim(scope)
  const of = (kind: string, verdict: string) => `keyrail_verdicts_total{kind="${kind}",verdict="${verdict}"}`
  assert.deepEqual(
    await read(
      of('rate_limit', 'allowed'),
      of('rate_limit', 'denied'),
      of('idempotency', 'execute'),
      of('idempotency', 'in_progress'),
      of('idempotency', 'replay'),
    ),
    [1, 2, 1, 1, 0],
  )
})

test('a held poll is counted, and not among the durations of requests', async () => {
  const { policy_version: since } = (await ask('GET', `/v1/projects/${projectId}`, { token: live })).body
  const poll = (prefer: string) =>
    ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=n`, {
      token: live,
      headers: { prefer },
    })
  const series =
    'http_server_request_duration_seconds_count{method="GET",route="/v1/policy/delta",status="200"}'
  await poll('none')
  assert.deepEqual(await read(series, 'keyrail_held_polls_ended_total'), [1, 0])
  await poll('wait=1')
  assert.deepEqual(await read(series, 'keyrail_held_polls_ended_total'), [1, 1])
})

test('no series has an id, and a route adds a bounded number of them', async () => {
  const text = await deps.metrics.text()
  for (const id of [vendor.workspaceId, projectId, vendor.tenantId, vendor.liveId])
    assert.ok(!text.includes(id))
  for (let i = 0; i < 50; i++) await ask('GET', `/nowhere/${i}`)
  const routes = new Set(
    [...(await deps.metrics.text()).matchAll(/route="([^"]+)"/g)].map(([, route]) => route),
  )
  assert.deepEqual(
    [...routes].filter(route => route?.includes('nowhere')),
    [],
  )
})
