import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { buildApp } from '../app.ts'
import { openDeps } from '../deps.ts'
import { serviceBudgets } from '../platform/budgets.ts'
import { preferredWait } from './delta.ts'
import { createWatch } from './watch.ts'

/** Long polls over a real socket. */
const harness = await startHarness()
const { app, ask } = harness
await app.listen({ host: '127.0.0.1', port: 0 })
const port = (app.server.address() as AddressInfo).port
const vendor = await makeVendor(harness)

interface Held {
  answered: Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>
  hangUp(): void
}

function hold(
  path: string,
  { prefer = 'wait=20', method = 'GET', at = port, etag = '', token = vendor.live } = {},
): Held {
  const call = request({
    port: at,
    host: '127.0.0.1',
    method,
    path,
    headers: { authorization: `Bearer ${token}`, prefer, ...(etag && { 'if-none-match': etag }) },
  })
  const answered = (async () => {
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    let body = ''
    for await (const chunk of response.setEncoding('utf8')) body += chunk
    return { status: response.statusCode ?? 0, headers: response.headers, body }
  })()
  answered.catch(() => {})
  call.end()
  return { answered, hangUp: () => call.destroy() }
}

const delta = (since: number, more = '') =>
  `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&node=n${more}`
const version = async (): Promise<number> =>
  (await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })).body.policy_version
/** Waits until the service holds this many polls. */
const areHeld = (count: number, { watch } = harness.deps.policy) =>
  until(() => watch.held().all === count, `${count} polls are held`)

test('a poll without changes is held until there is one, and returns it', async () => {
  const held = hold(delta(await version()))
  await areHeld(1)
  const { id } = await issueKey(harness, vendor)
  const { status, headers, body } = await held.answered
  assert.deepEqual([status, headers['preference-applied']], [200, 'wait=20'])
  assert.deepEqual(
    JSON.parse(body).changes.map((change: { key_id: string }) => change.key_id),
    [id],
  )
})

test('a poll that is held for longer than the time of a request still gets its change', async () => {
  const impatient = await harness.startImpatient()
  await impatient.app.listen({ host: '127.0.0.1', port: 0 })
  const at = (impatient.app.server.address() as AddressInfo).port
  const held = hold(delta(await version()), { at })
  await areHeld(1, impatient.deps.policy)
  await setTimeout(serviceBudgets.requestMs + 100)
  const { id } = await issueKey(harness, vendor)
  const { status, body } = await held.answered
  assert.deepEqual([status, JSON.parse(body).changes?.[0].key_id], [200, id])
})

test('one change answers all held polls', async () => {
  const since = await version()
  const held = Array.from({ length: 50 }, () => hold(delta(since)))
  await areHeld(50)
  await issueKey(harness, vendor)
  for (const { body } of await Promise.all(held.map(({ answered }) => answered))) {
    assert.equal(JSON.parse(body).version, since + 1)
  }
})

test('a change between the look-up of a poll and its wait is not missed', async () => {
  const { deps } = harness
  const since = await version()
  await issueKey(harness, vendor)
  const ref = { workspaceId: vendor.workspaceId, projectId: vendor.projectId, reach: 'both' } as const
  let looks = 0
  const heads = {
    ...deps.policy.heads,
    run: () => {
      looks += 1
      return deps.policy.heads.run(ref)
    },
  }
  const room = { all: 1, ofWorkspace: 1 }
  // No hints, and a deadline before the next timed look: only the look at the start of the wait can find the change.
  const watch = createWatch(heads, { listen: () => () => {} }, room, () => 0)
  const ended = await watch.change(ref, since, 900, new AbortController().signal)
  assert.deepEqual([ended?.head?.version, looks], [since + 1, 1])
})

test('a change by another process ends the wait too', async () => {
  const { connection, deps } = harness
  const other = await openDeps({ config: deps.config, log: deps.log, connection, budgets: deps.budgets })
  const elsewhere = await buildApp(other)
  try {
    const held = hold(delta(await version()))
    await areHeld(1)
    const made = await elsewhere.inject({
      method: 'POST',
      url: '/v1/keys',
      headers: { authorization: `Bearer ${vendor.live}` },
      payload: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
    })
    assert.equal(JSON.parse((await held.answered).body).changes[0].key_id, made.json().id)
  } finally {
    await elsewhere.close()
    await other.close()
  }
})

test('without a change the wait ends with an empty delta, or 304 for its ETag', async () => {
  const since = await version()
  const { status, headers, body } = await hold(delta(since), { prefer: 'wait=1' }).answered
  assert.deepEqual([status, JSON.parse(body).changes], [200, []])
  const unchanged = await hold(delta(since), { prefer: 'wait=1', etag: String(headers.etag) }).answered
  assert.deepEqual([unchanged.status, unchanged.body], [304, ''])
})

test('a node that is not current is answered at once, with the preference applied', async () => {
  const { headers, body } = await hold(delta(1)).answered
  assert.equal(headers['preference-applied'], 'wait=20')
  assert.ok(JSON.parse(body).changes.length > 0)
  const ahead = await hold(delta((await version()) + 1)).answered
  assert.equal(JSON.parse(ahead.body).object, 'policy_snapshot')
})

test('a poll whose secret key is revoked while it is held gets 401 and no changes', async () => {
  const { body: key } = await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })
  const held = hold(delta(await version()), { token: key.key })
  await areHeld(1)
  await ask('POST', `/v1/secret_keys/${key.id}/revoke`, { token: vendor.live })
  await issueKey(harness, vendor)
  const { status, body } = await held.answered
  assert.deepEqual([status, JSON.parse(body).code], [401, 'unauthenticated'])
})

test('a held poll has already acknowledged its version', async () => {
  const { id } = await issueKey(harness, vendor)
  const held = hold(delta(await version()))
  await areHeld(1)
  const revoked = ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: vendor.live })
  const { body } = await held.answered
  const next = hold(delta(JSON.parse(body).version))
  const { propagation } = (await revoked).body
  assert.deepEqual([propagation.acknowledged, propagation.nodes], [true, 1])
  next.hangUp()
})

test('a client that disconnects from revoke with wait has revoked, and counting stops', async () => {
  const { nodes } = harness.deps.policy
  const [gone, stays] = [await issueKey(harness, vendor), await issueKey(harness, vendor)]
  await ask('GET', delta(await version()), { token: vendor.live })
  const count = nodes.count.bind(nodes)
  const counts = new Map<number, number>()
  nodes.count = question => {
    counts.set(question.version, countsOf(question.version) + 1)
    return count(question)
  }
  const countsOf = (version: number) => counts.get(version) ?? 0
  const closed = Promise.withResolvers<void>()
  app.server.once('request', (_, response) => response.once('close', closed.resolve))
  const revoke = (id: string) => hold(`/v1/keys/${id}/revoke?wait=true`, { method: 'POST' })
  try {
    const first = (await version()) + 1
    const revoking = revoke(gone.id)
    await until(() => countsOf(first) >= 2, 'the nodes are counted twice')
    revoking.hangUp()
    await closed.promise
    // Both would be counted at the same intervals.
    const second = revoke(stays.id)
    await until(() => countsOf(first + 1) >= 2, 'the second revocation waits')
    const counted = countsOf(first)
    await until(() => countsOf(first + 1) >= 5, 'the second revocation still waits')
    assert.equal(countsOf(first), counted)
    second.hangUp()
  } finally {
    nodes.count = count
  }
  const { body } = await ask('GET', `/v1/keys/${gone.id}`, { token: vendor.live })
  assert.notEqual(body.revoked_at, null)
})

test('a closing service answers the polls that it holds, then ends', async () => {
  const { connection, deps } = harness
  const other = await openDeps({ config: deps.config, log: deps.log, connection, budgets: deps.budgets })
  const closing = await buildApp(other)
  await closing.listen({ host: '127.0.0.1', port: 0 })
  const at = (closing.server.address() as AddressInfo).port
  const since = await version()
  const held = hold(delta(since), { at })
  await areHeld(1, other.policy)
  other.drain()
  const { status, body } = await held.answered
  assert.deepEqual([status, JSON.parse(body).changes], [200, []])
  await closing.close()
  await other.close()
})

test('beyond the maximum of held polls, a poll is answered at once without waiting', async () => {
  const { connection, deps } = harness
  const config = { ...deps.config, maxHeldPolls: 3, maxHeldPollsPerWorkspace: 2 }
  const small = await openDeps({ config, log: deps.log, connection, budgets: deps.budgets })
  const app = await buildApp(small)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const at = (app.server.address() as AddressInfo).port
  const other = await makeVendor(harness)
  const holdOther = async () => {
    const { body } = await ask('GET', `/v1/projects/${other.projectId}`, { token: other.live })
    const path = `/v1/policy/delta?project_id=${other.projectId}&since=${body.policy_version}`
    return hold(path, { at, token: other.live })
  }
  const since = await version()
  const first = hold(delta(since), { at })
  const second = hold(delta(since), { at })
  await areHeld(2, small.policy)
  const third = await hold(delta(since), { at }).answered
  assert.deepEqual([third.status, third.headers['preference-applied']], [200, undefined])
  assert.deepEqual(JSON.parse(third.body).changes, [])
  const beside = await holdOther()
  await areHeld(3, small.policy)
  const beyond = await (await holdOther()).answered
  assert.deepEqual([beyond.status, beyond.headers['preference-applied']], [200, undefined])
  assert.deepEqual(small.policy.watch.held(), { all: 3, mostOfOne: 2 })

  first.hangUp()
  await areHeld(2, small.policy)
  const again = hold(delta(since), { at })
  await areHeld(3, small.policy)
  small.drain()
  for (const { answered } of [second, again, beside])
    assert.equal((await answered).headers['preference-applied'], 'wait=20')
  assert.deepEqual(small.policy.watch.held(), { all: 0, mostOfOne: 0 })
  await app.close()
  await small.close()
})

test('the first wait of a Prefer header counts, in whole seconds, at most 30', () => {
  const cases: [string | undefined, number | null][] = [
    [undefined, null],
    ['', null],
    ['respond-async', null],
    ['wait=10', 10],
    ['Wait = "10"', 10],
    ['respond-async, wait=5;x=y, wait=9', 5],
    ['wait=31', 30],
    ['wait=999999999', 30],
    ['wait=0', 0],
    ['wait=-1', null],
    ['wait=1.5', null],
    ['wait', null],
    ['wait=1e9', null],
    ['await=3', null],
    [`wait=${'9'.repeat(5_000)}`, null],
  ]
  for (const [header, seconds] of cases) assert.equal(preferredWait(header), seconds, String(header))
})
