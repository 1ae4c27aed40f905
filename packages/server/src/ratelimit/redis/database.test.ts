import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/harness.ts'
import { addMember, makePerson } from '../../../test/people.ts'
import { makeProject, makeVendor } from '../../../test/vendor.ts'
import { Errands } from '../../platform/db/pool/errands.ts'
import { databaseOf } from './database.ts'

const harness = await startHarness()
const { factsOf } = databaseOf(new Errands(harness.connection))
const { query } = harness

const own = async (workspaceId: string, userId: string) =>
  await addMember(query, workspaceId, userId, 'owner')

test('the workspaces of their first owner pay together; a further owner pays for none of them', async () => {
  const vendors = [await makeVendor(harness), await makeVendor(harness), await makeVendor(harness)] as const
  const [first, second, third] = vendors
  const [ann, ben] = [await makePerson(query, { verified: false }), await makePerson(query)]
  await own(first.workspaceId, ann.userId)
  await own(second.workspaceId, ann.userId)
  await query(`update workspace_members set joined_at = joined_at - interval '1 day'`)
  await own(second.workspaceId, ben.userId)
  await own(third.workspaceId, ben.userId)
  await makeProject(harness, second)
  const together = [first.workspaceId, second.workspaceId].toSorted()
  for (const { workspaceId, projectId } of [first, second]) {
    const facts = await factsOf(workspaceId)
    assert.deepEqual(facts.workspaceIds.toSorted(), together)
    assert.deepEqual([facts.projects, facts.projectIds.includes(projectId)], [3, true])
  }
  assert.equal((await factsOf(first.workspaceId)).isProven, false)
  const facts = await factsOf(third.workspaceId)
  assert.deepEqual([facts.workspaceIds, facts.projects, facts.isProven], [[third.workspaceId], 1, true])
})

test('a workspace without an owner, and one whose owner left, pays alone', async () => {
  const [plain, left] = [await makeVendor(harness), await makeVendor(harness)]
  const { userId } = await makePerson(query)
  for (const { workspaceId } of [plain, left]) await own(workspaceId, userId)
  await query('update workspace_members set removed_at = service_now() where workspace_id = $1', [
    left.workspaceId,
  ])
  for (const { workspaceId } of [plain, left])
    assert.deepEqual((await factsOf(workspaceId)).workspaceIds, [workspaceId])
  const ownerless = await makeVendor(harness)
  assert.deepEqual((await factsOf(ownerless.workspaceId)).workspaceIds, [ownerless.workspaceId])
})
