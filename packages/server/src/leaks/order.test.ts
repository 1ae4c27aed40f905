import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { openBarrier } from '../../test/races/barrier.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { query } = harness
const url = 'https://codehost.example/acme/app/blob/main/.env'

type Issued = Awaited<ReturnType<typeof issueKey>>
const report = (keys: readonly Issued[], service: Pick<typeof harness, 'ask'> = harness) =>
  service.ask('POST', reportPath, signedReport(keys.map(({ key }) => ({ token: key, type: 'key', url }))))

async function issue(vendor: Vendor, count: number): Promise<Issued[]> {
  const keys: Issued[] = []
  for (let i = 0; i < count; i++) keys.push(await issueKey(harness, vendor))
  return keys
}
const idsOf = (keys: readonly Issued[]) => keys.map(({ id }) => id)

/** The keys that a code host's reports revoked, in the order of the audit log. */
const revokedIn = async ({ workspaceId }: Vendor): Promise<string[]> =>
  (
    await query(
      `select target_id from audit_logs where workspace_id = $1 and actor_type = 'codehost' order by seq`,
      [workspaceId],
    )
  ).map(({ target_id }) => target_id)

/** The keys of the changes that nodes receive after each key's creation, in the order of their versions. */
const changedIn = async ({ workspaceId, projectId }: Vendor): Promise<string[]> =>
  (
    await query(
      `select key_id from policy_changes c where workspace_id = $1 and project_id = $2 and version > (
         select min(version) from policy_changes o where o.workspace_id = $1 and o.key_id = c.key_id) order by version`,
      [workspaceId, projectId],
    )
  ).map(({ key_id }) => key_id)

test('keys of a project that waits hold one connection, and other projects’ keys go on', async () => {
  const [stuck, free] = [await makeVendor(harness), await makeVendor(harness)]
  const waiting = await issue(stuck, 8)
  const passing = await issue(free, 8)
  const barrier = await openBarrier(harness)
  await barrier.hold('select from policy_heads where project_id = $1 for update', [stuck.projectId])
  const answer = report([...waiting, ...passing])
  try {
    await until(async () => (await revokedIn(free)).length === passing.length, 'the free project is done')
    await barrier.untilWaiting(1)
    const waiters = await query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    assert.equal(waiters.length, 1)
  } finally {
    await barrier.release()
  }
  assert.equal((await answer).status, 200)
  // In the order of the report, in the audit log and for nodes.
  assert.deepEqual(await revokedIn(free), idsOf(passing))
  assert.deepEqual(await revokedIn(stuck), idsOf(waiting))
  assert.deepEqual(await changedIn(stuck), idsOf(waiting))
})

test('a key that cannot be revoked is 503; later ones are, and a redelivery revokes it', async () => {
  const vendor = await makeVendor(harness)
  const keys = await issue(vendor, 3)
  const [first, middle, last] = keys
  assert.ok(first && middle && last)
  const impatient = await harness.startImpatient()
  const barrier = await openBarrier(harness)
  await barrier.hold('select from api_keys where id = $1 for update', [middle.id])
  const { status, body } = await report(keys, impatient)
  await barrier.release()
  assert.equal(status, 503)
  assert.match(body.detail, /^1 of 3 tokens could not be looked up or revoked\. All others are done\./)
  assert.deepEqual(await revokedIn(vendor), [first.id, last.id])
  // Once it succeeds, a repeated report leaves nothing more behind.
  for (let times = 0; times < 2; times++) {
    assert.equal((await report(keys)).status, 200)
    assert.deepEqual(await revokedIn(vendor), [first.id, last.id, middle.id])
    assert.deepEqual(await changedIn(vendor), [first.id, last.id, middle.id])
  }
})

test('two deliveries of a report at once leave one revocation of each key', async () => {
  const [one, two] = [await makeVendor(harness), await makeVendor(harness)]
  const keys = (await Promise.all([issue(one, 6), issue(two, 6)])).flat()
  const answers = await Promise.all([report(keys), report(keys.toReversed())])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  )
  for (const vendor of [one, two]) {
    assert.equal((await revokedIn(vendor)).length, 6)
    assert.equal((await changedIn(vendor)).length, 6)
  }
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
})
