import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { changesOf } from '../../test/feed.ts'
import { figuresFrom } from '../../test/figures.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor, type Vendor } from '../../test/vendor.ts'

/** The look-up that a poll makes: its credential together with the head of its project. */
const harness = await startHarness()
const { ask, query, deps } = harness
const vendor = await makeVendor(harness)
const stranger = await makeVendor(harness)

const batches = ['policy_poll', 'credential', 'policy_head'].map(
  lane => `keyrail_lane_duration_seconds_count{lane="${lane}"}`,
)
const read = figuresFrom(deps.metrics)
/** How many statements of each lane the work takes. */
async function counted(work: () => Promise<unknown>): Promise<number[]> {
  const before = await read(...batches)
  await work()
  return (await read(...batches)).map((count = 0, i) => count - (before[i] ?? 0))
}

const versionOf = async ({ live, projectId }: Pick<Vendor, 'live' | 'projectId'>): Promise<number> =>
  (await ask('GET', `/v1/projects/${projectId}`, { token: live })).body.policy_version
const pollOf = (projectId: string, since = 1, more = '') =>
  `/v1/policy/delta?project_id=${projectId}&since=${since}${more}`
const poll = (token: string, projectId = vendor.projectId, since = 1) =>
  ask('GET', pollOf(projectId, since), { token })

test('a poll and a snapshot each take one statement for credential and head', async () => {
  const since = await versionOf(vendor)
  assert.deepEqual(await counted(() => poll(vendor.live, vendor.projectId, since)), [1, 0, 0])
  const snapshot = `/v1/policy/snapshot?max_keys=5&project_id=${vendor.projectId}`
  assert.deepEqual(await counted(() => ask('GET', snapshot, { token: vendor.live })), [1, 0, 0])
})

test('a query may encode its project, and gets the answer about it', async () => {
  const since = await versionOf(vendor)
  const { id: other } = await makeProject(harness, vendor)
  const { live, projectId } = vendor
  const answer = async (url: string) => {
    const { status, body } = await ask('GET', url, { token: live })
    return [status, body.project_id ?? body.code]
  }
  for (const name of [
    projectId.toUpperCase(),
    projectId.replaceAll('-', '%2D'),
    `%${projectId.charCodeAt(0).toString(16)}${projectId.slice(1)}`,
  ])
    assert.deepEqual(await answer(pollOf(name, since)), [200, projectId], name)
  assert.deepEqual(await answer(`/v1/policy/delta?since=${since}&project_id=${projectId}`), [200, projectId])
  // The name of the first member only ends like that of the project.
  const decoy = `/v1/policy/delta?since=1&x?project_id=${other}&project%5Fid=${projectId}`
  assert.deepEqual(await answer(decoy), [200, projectId])
  for (const wrong of [
    pollOf(projectId, since, `&project_id=${other}`),
    pollOf('x'.repeat(36), since),
    pollOf('-'.repeat(36), since),
    `/v1/policy/delta?since=${since}`,
  ])
    assert.equal((await answer(wrong))[0], 400, wrong)
})

test('polls of one batch get each their own caller and head', async () => {
  const projects = await Promise.all(Array.from({ length: 4 }, () => makeProject(harness, vendor)))
  for (const [at, { id }] of projects.entries())
    for (let issued = 0; issued < at; issued++) await issueKey(harness, { ...vendor, projectId: id })
  const wrong = vendor.live.slice(0, -1) + (vendor.live.endsWith('x') ? 'y' : 'x')
  const places = projects.flatMap(({ id }, at) => [
    { token: vendor.live, id, answer: [200, at + 1, null] },
    { token: vendor.test, id, answer: [200, at + 1, 'test'] },
    { token: stranger.live, id, answer: [404] },
    { token: wrong, id, answer: [401] },
  ])
  const first = await Promise.all(projects.map(({ id }) => versionOf({ ...vendor, projectId: id })))
  const answers = await Promise.all(
    [...places, ...places.toReversed()].map(async ({ token, id }) => {
      const { status, body } = await poll(token, id)
      return status === 200 ? [status, body.version, body.env] : [status]
    }),
  )
  const expected = places.map(({ answer }, i) =>
    answer[0] === 200 ? [200, first[Math.floor(i / 4)], answer[2]] : answer,
  )
  assert.deepEqual(answers, [...expected, ...expected.toReversed()])
  assert.equal(new Set(first).size, 4)
})

test('a revoked and an expired key are refused on their next poll', async () => {
  const [gone, ended] = [await makeSecretKey(harness, vendor), await makeSecretKey(harness, vendor)]
  const since = await versionOf(vendor)
  for (const { key } of [gone, ended])
    assert.deepEqual((await poll(key, vendor.projectId, since)).body.changes, [])
  const issued = await issueKey(harness, vendor)
  const { body } = await poll(gone.key, vendor.projectId, since)
  assert.deepEqual(
    changesOf(body).map(([, id]) => id),
    [issued.id],
  )

  await ask('POST', `/v1/secret_keys/${gone.id}/revoke`, { token: vendor.live, body: {} })
  assert.equal((await poll(gone.key)).status, 401)
  await query('update secret_keys set expires_at = service_now() where id = $1', [ended.id])
  assert.equal((await poll(ended.key)).status, 401)
  assert.equal((await poll(vendor.live)).status, 200)
})

test('the limits of a key hold for its polls, and its use is recorded', async () => {
  const { id: other } = await makeProject(harness, vendor)
  const bound = await makeSecretKey(harness, vendor, { project_ids: [other] })
  const poor = await makeSecretKey(harness, vendor, { permissions: ['keys:read'] })
  const far = await makeSecretKey(harness, vendor, { allowed_cidrs: ['10.0.0.0/8'] })
  assert.equal((await poll(bound.key)).status, 404)
  assert.equal((await poll(bound.key, other)).status, 200)
  assert.equal((await poll(poor.key)).status, 403)
  assert.deepEqual((await poll(far.key)).body.code, 'ip_not_allowed')
  assert.equal((await poll(vendor.live, randomUUID())).status, 404)
  assert.equal((await poll(vendor.live, stranger.projectId)).status, 404)
  const unused = 'select from secret_keys where id = $1 and last_used_at is null'
  await until(async () => (await query(unused, [bound.id])).length === 0)
  // A person's session is no credential of the feed, and neither is nothing.
  assert.equal((await ask('GET', pollOf(vendor.projectId))).status, 401)
})

test('a poll whose look-up is stuck is refused at its deadline, and the next one is answered', async () => {
  const impatient = await harness.startImpatient()
  const ask = () => impatient.ask('GET', pollOf(vendor.projectId), { token: vendor.live })
  assert.equal((await ask()).status, 200)
  await query('begin')
  try {
    await query('lock table policy_heads in access exclusive mode')
    assert.equal((await ask()).status, 503)
  } finally {
    await query('rollback')
  }
  await until(async () => (await ask()).status === 200)
  await query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and application_name = 'keyrail lanes reads'`,
  )
  assert.equal((await ask()).status, 200)
})
