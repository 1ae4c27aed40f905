import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { refusalReasons, shadowReasons } from '@keyrail/contract/usage'
import { startHarness } from '../../test/harness.ts'
import { makeFleet } from '../../test/usage-fleet.ts'
import { makeSecretKey } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneRefusals, pruneShadow, pruneUsageReports } from './room.ts'

const harness = await startHarness()
const { ask, query, setStoreTime } = harness
const now = new Date('2030-03-10T12:30:00.000Z')
const day = 86_400_000
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString()
const at = (reason: string, count = 1, hour = now.toISOString()) => ({ hour, reason, count })
beforeEach(() => setStoreTime(now))

interface Sent {
  id?: string
  token?: string
  more?: object
}

type Counts = Record<string, number>
const byReason = (rows: { reason: string; count: number }[]): Counts =>
  Object.fromEntries(rows.map(({ reason, count }) => [reason, count]))

/** A vendor whose servers report refusals, with what it reads. */
async function openVendor() {
  const { live, test: testToken, projectId, workspaceId } = await makeFleet(harness)
  const send = (records: readonly object[], { id = randomUUID(), token = live, more = {} }: Sent = {}) =>
    ask('POST', '/v1/usage/refusals', {
      token,
      body: { report_id: id, project_id: projectId, records, ...more },
    })
  return {
    live,
    test: testToken,
    projectId,
    workspaceId,
    send,
    async report(records: readonly object[], sent?: Sent) {
      const { status, body } = await send(records, sent)
      assert.equal(status, 202, JSON.stringify(body))
      return [body.accepted, body.ignored]
    },
    async read(text = '', token = live): Promise<Counts> {
      const { status, body } = await ask('GET', `/v1/usage/refusals?${text}`, { token })
      assert.equal(status, 200, JSON.stringify(body))
      const counts = byReason(body.data)
      assert.equal(
        body.total,
        Object.values(counts).reduce((sum, count) => sum + count, 0),
      )
      return counts
    },
    /** What was counted in shadow: agreed, accepted here alone, refused here alone, and by guards. */
    async shadow(text = '', token = live): Promise<[number, number, Counts, Counts]> {
      const { status, body } = await ask('GET', `/v1/usage/refusals?${text}`, { token })
      assert.equal(status, 200, JSON.stringify(body))
      const { agreed, accepted, refused, guards } = body.shadow
      return [agreed, accepted, byReason(refused), byReason(guards)]
    },
  }
}

test('a report of refusals is applied once, and its id is not one of usage', async () => {
  const { report, read, live } = await openVendor()
  const id = randomUUID()
  const usage = { report_id: id, sample_rate: 1, records: [{ key_id: randomUUID(), hour: now, count: 1 }] }
  assert.equal((await ask('POST', '/v1/usage/reports', { token: live, body: usage })).status, 202)
  const first = [at('unknown_key', 5), at('unknown_key', 2), at('rate_limited', 30)]
  assert.deepEqual(await report(first, { id }), [3, 0])
  assert.deepEqual(await report([at('unknown_key', 70)], { id }), [3, 0])
  assert.deepEqual(await report([at('unknown_key', 70)], { id: id.toUpperCase() }), [3, 0])
  assert.deepEqual(await report([at('unknown_key')]), [1, 0])
  assert.deepEqual(await read(), { rate_limited: 30, unknown_key: 8 })
})

test('every reason is counted, and one that this service does not know is ignored', async () => {
  const { report, read } = await openVendor()
  assert.deepEqual(await report(refusalReasons.map(reason => at(reason))), [refusalReasons.length, 0])
  assert.deepEqual(await report([at('of_tomorrow'), at('unknown_key')]), [1, 1])
  assert.deepEqual(await report([at('of_tomorrow')]), [0, 1])
  assert.equal(Object.keys(await read()).length, refusalReasons.length)
})

test('a report has refusals and counts of shadow, which are never in one sum', async () => {
  const { report, read, shadow } = await openVendor()
  assert.deepEqual(await shadow(), [0, 0, {}, {}])
  assert.deepEqual(await report(shadowReasons.map(reason => at(reason))), [shadowReasons.length, 0])
  assert.deepEqual(await read(), {})
  const id = randomUUID()
  const both = [
    at('unknown_key', 3),
    at('shadow_unknown_key', 5),
    at('shadow_guard_unknown_key', 40),
    at('shadow_agreed', 70),
    at('shadow_of_tomorrow'),
    at('shadow_refusal'),
    at('shadow_rate_limited', 9, '2030-03-03T12:59:59.999Z'),
  ]
  for (const _ of [1, 2]) assert.deepEqual(await report(both, { id }), [4, 3])
  assert.deepEqual(await read(), { unknown_key: 3 })
  const [agreed, accepted, refused, guards] = await shadow()
  const words = Object.keys(refused).length + Object.keys(guards).length
  assert.deepEqual([agreed, accepted, words], [71, 1, shadowReasons.length - 2])
  assert.deepEqual(Object.entries(refused)[0], ['unknown_key', 6])
  assert.deepEqual(Object.entries(guards)[0], ['unknown_key', 41])
})

test('counts of shadow are by day, environment and project, as refusals', async () => {
  const [mine, other] = [await openVendor(), await openVendor()]
  const { report, shadow, test: testToken, live } = mine
  const made = await ask('POST', '/v1/projects', { token: live, body: { name: 'Other', slug: randomUUID() } })
  const second = made.body.id
  await report([at('shadow_agreed', 1)], { token: testToken })
  await report([at('shadow_agreed', 2)])
  await report([at('shadow_accepted', 4), at('shadow_stale', 8, ago(3 * day))], {
    more: { project_id: second },
  })
  assert.deepEqual(
    [
      await shadow('env=test'),
      await shadow('', testToken),
      await shadow('env=live'),
      await shadow(`project_id=${mine.projectId}`),
      await shadow(`project_id=${second}&days=3`),
      await shadow(`project_id=${second}&days=4`),
      await other.shadow(),
    ],
    [
      [1, 0, {}, {}],
      [1, 0, {}, {}],
      [2, 4, { stale: 8 }, {}],
      [3, 0, {}, {}],
      [0, 4, {}, {}],
      [0, 4, { stale: 8 }, {}],
      [0, 0, {}, {}],
    ],
  )
})

test('reports of both kinds that come at once add up, and none waits for another in a circle', async () => {
  const { report, read, shadow } = await openVendor()
  const kinds = [
    [at('unknown_key'), at('shadow_unknown_key')],
    [at('shadow_unknown_key'), at('shadow_agreed', 2)],
    [at('expired_key', 2), at('unknown_key')],
  ]
  await Promise.all(Array.from({ length: 30 }, (_, i) => report(kinds[i % 3] ?? [])))
  assert.deepEqual(await read(), { expired_key: 20, unknown_key: 20 })
  assert.deepEqual(await shadow(), [20, 0, { unknown_key: 20 }, {}])
})

test('an hour is counted from 5 minutes before it begins and for 7 days, on its UTC day', async () => {
  const { report, read, workspaceId } = await openVendor()
  const hours = [
    '2030-03-03T12:59:59.999Z',
    '2030-03-03T13:00:00.000Z',
    '2030-03-10T12:59:59.999Z',
    '2030-03-10T13:00:00.000Z',
    '9999-12-31T23:59:59Z',
  ]
  assert.deepEqual(
    await report(
      hours.map(hour => at('unknown_key', 1, hour)),
      { more: {} },
    ),
    [2, 3],
  )
  const rows = await query('select day::text from refusal_days where workspace_id = $1 order by day', [
    workspaceId,
  ])
  assert.deepEqual(
    rows.map(row => row.day),
    ['2030-03-03', '2030-03-10'],
  )
  assert.deepEqual(
    [await read('days=7'), await read('days=8'), await read()],
    [{ unknown_key: 1 }, { unknown_key: 2 }, { unknown_key: 2 }],
  )
})

test('a test credential counts and reads test alone, a live one what it names', async () => {
  const { report, send, read, test: testToken } = await openVendor()
  assert.deepEqual(await report([at('unknown_key', 1)], { token: testToken }), [1, 0])
  assert.deepEqual(await report([at('unknown_key', 2)], { token: testToken, more: { env: 'test' } }), [1, 0])
  assert.deepEqual(await report([at('unknown_key', 4)], { more: { env: 'test' } }), [1, 0])
  assert.deepEqual(await report([at('unknown_key', 8)]), [1, 0])
  const reached = await send([at('unknown_key', 16)], { token: testToken, more: { env: 'live' } })
  assert.deepEqual([reached.status, reached.body.code], [403, 'env_mismatch'])
  assert.deepEqual(
    [await read('env=live'), await read('env=test'), await read(), await read('', testToken)],
    [{ unknown_key: 8 }, { unknown_key: 7 }, { unknown_key: 15 }, { unknown_key: 7 }],
  )
})

test('a project that is foreign, deleted or not the key’s is not found, and nothing is written', async () => {
  const [mine, other] = [await openVendor(), await openVendor()]
  const { live, send, read, workspaceId } = mine
  const project = async () =>
    (await ask('POST', '/v1/projects', { token: live, body: { name: 'Other', slug: randomUUID() } })).body.id
  const [second, gone] = [await project(), await project()]
  await ask('DELETE', `/v1/projects/${gone}`, { token: live })
  const bound = (
    await makeSecretKey(harness, { live }, { project_ids: [second], permissions: ['usage:report'] })
  ).key
  const id = randomUUID()
  for (const [project_id, token] of [
    [other.projectId, live],
    [gone, live],
    [randomUUID(), live],
    [mine.projectId, bound],
  ]) {
    const { status, body } = await send([at('unknown_key')], { id, token, more: { project_id } })
    assert.deepEqual([status, body.code], [404, 'not_found'])
  }
  assert.deepEqual(await query('select from usage_reports where workspace_id = $1', [workspaceId]), [])
  const taken = await send([at('unknown_key')], { id, token: bound, more: { project_id: second } })
  assert.deepEqual([taken.status, taken.body.accepted], [202, 1])
  assert.deepEqual(
    [await read(`project_id=${second}`), await read(`project_id=${mine.projectId}`), await other.read()],
    [{ unknown_key: 1 }, {}, {}],
  )
})

test('a value out of bounds is refused by its path, and the report id stays unused', async () => {
  const { send, report } = await openVendor()
  const id = randomUUID()
  const good = at('unknown_key')
  const cases: [records: readonly object[], more: object, path: string][] = [
    [[good], { report_id: 'x' }, 'report_id'],
    [[good], { project_id: 'x' }, 'project_id'],
    [[good], { env: 'both' }, 'env'],
    [[good], { sample_rate: 1 }, 'sample_rate'],
    [[], {}, 'records'],
    [Array.from({ length: 101 }, () => good), {}, 'records'],
    [[good, { ...good, count: 0 }], {}, 'records.1.count'],
    [[{ ...good, count: 1_000_000_001 }], {}, 'records.0.count'],
    [[{ ...good, count: 1.5 }], {}, 'records.0.count'],
    [[{ ...good, hour: '2030-02-29T00:00:00Z' }], {}, 'records.0.hour'],
    [[{ ...good, reason: '' }], {}, 'records.0.reason'],
    [[{ ...good, reason: 'a,b' }], {}, 'records.0.reason'],
    [[{ ...good, reason: `a${'b'.repeat(32)}` }], {}, 'records.0.reason'],
    [[{ ...good, key_id: randomUUID() }], {}, 'records.0.key_id'],
  ]
  for (const [records, more, path] of cases) {
    const { status, body } = await send(records, { id, more })
    assert.deepEqual([status, body.errors?.[0].path], [400, path], JSON.stringify(body))
  }
  assert.deepEqual(await report([good], { id }), [1, 0])
})

test('the largest reports add up beyond a bigint', async () => {
  const { report, read } = await openVendor()
  const most = Array.from({ length: 100 }, () => at('rate_limited', 1_000_000_000))
  assert.deepEqual(await report(most), [100, 0])
  assert.deepEqual(await read(), { rate_limited: 1e11 })
  await query(`update refusal_days set requests = requests * 1e11 where reason = 'rate_limited'`)
  assert.deepEqual(await report(most), [100, 0])
  assert.deepEqual(await read(), { rate_limited: 1e22 + 1e11 })
})

test('refusals raise no version and are in no audit log', async () => {
  const { report, projectId, workspaceId } = await openVendor()
  const state = () =>
    query(
      `select version, (select count(*) from audit_logs where workspace_id = $1) as rows from policy_heads
       where workspace_id = $1 and project_id = $2`,
      [workspaceId, projectId],
    )
  const before = await state()
  await report([at('unknown_key')])
  assert.deepEqual(await state(), before)
})

test('refusals and shadow counts are deleted after 91 days, ids of their reports after 14', async () => {
  const { report, workspaceId } = await openVendor()
  await report([at('unknown_key', 1, ago(0)), at('shadow_agreed', 1, ago(0))])
  const left = async (days: number) => {
    await setStoreTime(new Date(now.getTime() + days * day))
    await doChores(harness.connection, [pruneRefusals, pruneShadow, pruneUsageReports], harness.deps.log)
    const counts = ['usage_reports', 'refusal_days', 'shadow_days'].map(async table => {
      const rows = await query(`select from ${table} where workspace_id = $1`, [workspaceId])
      return rows.length
    })
    return Promise.all(counts)
  }
  assert.deepEqual(
    [await left(13), await left(14), await left(91), await left(92)],
    [
      [1, 1, 1],
      [0, 1, 1],
      [0, 1, 1],
      [0, 0, 0],
    ],
  )
})
