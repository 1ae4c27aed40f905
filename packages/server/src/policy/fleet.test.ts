import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

const poll = (vendor: Vendor, since: number, node: string, more = '', token = vendor.live) =>
  ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&node=${node}${more}`, { token })
const list = async (vendor: Vendor, more = '', token = vendor.live) =>
  (await ask('GET', `/v1/projects/${vendor.projectId}/nodes?${more}`, { token })).body

/** Sets when nodes were seen, in seconds before now. */
async function seen(vendor: Vendor, ages: Record<string, number>): Promise<void> {
  for (const [node, age] of Object.entries(ages))
    await query(
      `update policy_nodes set seen_at = service_now() - $3 * interval '1 second'
       where workspace_id = $1 and node = $2`,
      [vendor.workspaceId, node, age],
    )
}

const unsaid = { held_keys: null, held_keys_max: null }

test('nodes are listed as they reported: environment, version, how far behind, live or not', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await issueKey(harness, vendor)
  await poll(vendor, 3, 'current', '&held_keys=30412&held_keys_max=38000')
  await poll(vendor, 1, 'late', '&env=live')
  await ask('GET', `/v1/policy/snapshot?project_id=${vendor.projectId}&node=new&env=test`, {
    token: vendor.live,
  })
  await seen(vendor, { current: 1, late: 80, new: 100 })
  const { data, has_more } = await list(vendor)
  assert.equal(has_more, false)
  assert.deepEqual(
    data.map(({ seen_at, ...row }: { seen_at: string }) => row),
    [
      {
        node: 'current',
        env: 'both',
        version: 3,
        behind: 0,
        held_keys: 30_412,
        held_keys_max: 38_000,
        live: true,
      },
      { node: 'late', env: 'live', version: 1, behind: 2, ...unsaid, live: true },
      { node: 'new', env: 'test', version: 0, behind: 3, ...unsaid, live: false },
    ],
  )
})

test('pages of nodes meet without gaps, for nodes seen at the same moment too', async () => {
  const vendor = await makeVendor(harness)
  await query(
    `insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
     select $1, $2, (array['live', 'test', 'both'])[n % 3 + 1], 'n' || n / 3, 1,
       service_now() - n / 6 * interval '1 second'
     from generate_series(0, 29) n`,
    [vendor.workspaceId, vendor.projectId],
  )
  const whole = (await list(vendor, 'limit=200')).data
  const walked: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(
      vendor,
      `limit=7${cursor && `&cursor=${cursor}`}`,
    )
    walked.push(...page.data)
    cursor = page.next_cursor
  }
  assert.deepEqual(walked, whole)
  assert.equal(walked.length, 30)
})

test('a test credential sees nodes that hold nothing of live, and no version', async () => {
  const vendor = await makeVendor(harness)
  await poll(vendor, 1, 'of-both')
  await poll(vendor, 1, 'of-live', '&env=live')
  await poll(vendor, 1, 'of-test', '', vendor.test)
  const { data } = await list(vendor, '', vendor.test)
  assert.deepEqual(
    data.map(({ seen_at, ...row }: { seen_at: string }) => row),
    [{ node: 'of-test', env: 'test', version: null, behind: null, ...unsaid, live: true }],
  )
})

test('a list has the nodes of its project, and its cursor fits no other project', async () => {
  const vendor = await makeVendor(harness)
  const other = { ...vendor, projectId: (await makeProject(harness, vendor)).id }
  for (const node of ['a', 'b']) await poll(vendor, 1, node)
  for (const node of ['c', 'd']) await poll(other, 1, node)
  const bound = await makeSecretKey(harness, vendor, { project_ids: [vendor.projectId] })
  const { data, next_cursor } = await list(vendor, 'limit=1', bound.key)
  assert.equal(data.length, 1)
  const { body } = await ask('GET', `/v1/projects/${other.projectId}/nodes?cursor=${next_cursor}`, {
    token: vendor.live,
  })
  assert.deepEqual([body.status, body.errors[0].path], [400, 'cursor'])
  const names = (await list(vendor)).data.map(({ node }: { node: string }) => node)
  assert.deepEqual(names.toSorted(), ['a', 'b'])
})

test('a node that a deleted project still has is not shown', async () => {
  const vendor = await makeVendor(harness)
  await poll(vendor, 1, 'a')
  await ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.equal((await list(vendor)).code, 'not_found')
})
