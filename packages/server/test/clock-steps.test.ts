import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { choresOf } from '../src/hall.ts'
import { doChores } from '../src/platform/db/upkeep.ts'
import { mintToken } from './embed.ts'
import { startHarness } from './harness.ts'
import { newScope, openCalls } from './idempotency-calls.ts'
import { makePerson } from './people.ts'
import { until } from './until.ts'
import { issueKey, makeVendor, type Vendor } from './vendor.ts'
import { faultsOf } from './whole.ts'

const hourMs = 3_600_000
const harness = await startHarness({ revokeWaitMs: 60_000 })
const { app, ask, clock, connection, deps, query } = harness
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo

/** Everything that ends some time, made before the clock steps, and a look at whether it still holds. */
async function makeEnding(vendor: Vendor) {
  const read = (path: string, token = vendor.live) => ask('GET', path, { token })
  const [{ soon }] = await query(`select service_now() + interval '30 minutes' as soon`)
  const key = await issueKey(harness, vendor, { expires_at: soon.toISOString() })
  const person = await makePerson(query)
  const embedToken = await mintToken(harness, vendor)
  const calls = openCalls(ask, vendor.live)
  const scope = newScope()
  assert.equal((await calls.claim(scope)).verdict, 'execute')
  const limits = [{ id: 'hourly', limit: 10, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }]
  const check = async () => {
    const body = { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', limits }
    return (await ask('POST', '/v1/ratelimit/check', { token: vendor.live, body })).body
  }
  assert.equal((await check()).allowed, true)
  return async (when: string) => {
    const { data } = (await read('/v1/keys?status=expiring')).body
    assert.deepEqual([data.length, data[0]?.id], [1, key.id], when)
    assert.equal((await read('/v1/auth/me', person.token)).status, 200, when)
    assert.equal((await read('/v1/embed/keys', embedToken)).status, 200, when)
    assert.equal((await calls.claim(scope)).verdict, 'in_progress', when)
    const { allowed } = await check()
    assert.equal(allowed, true, when)
    return embedToken
  }
}

for (const hours of [1, -1])
  test(`a process whose clock steps by ${hours} h and back: nothing ends early or late`, async () => {
    const vendor = await makeVendor(harness)
    const holds = await makeEnding(vendor)
    const path = `/v1/policy/delta?project_id=${vendor.projectId}&node=one&env=live`
    const version = async () =>
      (await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })).body.policy_version
    const hold = async (since: number) => {
      const headers = { authorization: `Bearer ${vendor.live}`, prefer: 'wait=20' }
      const response = await fetch(`http://127.0.0.1:${port}${path}&since=${since}`, { headers })
      return (await response.json()) as { version: number }
    }
    for (const step of [hours, -hours]) {
      // A poll and a revocation wait across the step.
      const since = await version()
      const poll = hold(since)
      await until(() => deps.policy.watch.held().all > 0)
      clock.advance(step * hourMs)
      await holds(`a step of ${step} h`)
      assert.equal(deps.policy.watch.held().all, 1)
      const { id } = await issueKey(harness, vendor)
      const { version: next } = await poll
      assert.equal(next, since + 1)

      let isOver = false
      const revoking = ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: vendor.live }).finally(() => {
        isOver = true
      })
      await until(async () => (await version()) === next + 1)
      clock.advance(-step * hourMs)
      clock.advance(step * hourMs)
      assert.equal(isOver, false)
      await ask('GET', `${path}&since=${next + 1}`, { token: vendor.live })
      const { acknowledged, nodes, waited_ms } = (await revoking).body.propagation
      assert.deepEqual([acknowledged, nodes], [true, 1])
      assert.ok(waited_ms >= 0 && waited_ms < 60_000)

      // Made by one process, in this order, whatever its clock says.
      const made = [await issueKey(harness, vendor), await issueKey(harness, vendor)].map(({ id }) => id)
      const { data } = (await ask('GET', '/v1/keys?limit=2', { token: vendor.live })).body
      assert.deepEqual(
        data.map(({ id }: { id: string }) => id),
        made.toReversed(),
      )
    }
    const chores = choresOf({ ...deps, signing: null })
    await doChores(connection, chores, deps.log)
    await holds('after upkeep')
    const { body: chain } = await ask('GET', '/v1/audit_logs/chain', { token: vendor.live })
    assert.equal(chain.valid, true)
    assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
  })
