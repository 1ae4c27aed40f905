import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootstrapToken, type Heard, startHarness } from '../harness.ts'
import { makeVendor, uniqueSlug } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const vendor = await makeVendor(harness)
const { live, workspaceId } = vendor

const answersOf = (answers: Heard[]) => answers.map(({ status, body }) => [status, body.code])

const createProject = (slug: string, headers = {}) =>
  ask('POST', '/v1/projects', { token: live, body: { name: 'Twice', slug }, headers })
const createTenant = (external_id: string) =>
  ask('POST', '/v1/tenants', { token: live, body: { external_id } })
const projectsWith = async (slug: string) =>
  (await query('select count(*) as n from projects where slug = $1', [slug]))[0].n
const createdRows = async (slug: string) =>
  (await query(`select count(*) as n from audit_logs where payload::json->>'slug' = $1`, [slug]))[0].n

test('two concurrent creations of a project slug: the second gets slug_taken', async () => {
  const slug = uniqueSlug()
  const requests = [() => createProject(slug), () => createProject(slug)]
  const answers = await meet(barrier, auditHeadOf(workspaceId), requests)
  assert.deepEqual(answersOf(answers), [
    [201, undefined],
    [409, 'slug_taken'],
  ])
  assert.deepEqual([await projectsWith(slug), await createdRows(slug)], [1, 1])
})

test('a slug that a failed creation held goes to the one that waited', async () => {
  const slug = uniqueSlug()
  await barrier.hold(...auditHeadOf(workspaceId))
  const first = createProject(slug)
  await barrier.untilWaiting(1)
  const second = createProject(slug)
  await barrier.untilWaiting(2)
  await query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%audit_append%'`,
  )
  const lost = await first
  await barrier.release()
  assert.deepEqual([lost.status, lost.body.code], [503, 'unavailable'])
  assert.equal((await second).status, 201)
  assert.deepEqual([await projectsWith(slug), await createdRows(slug)], [1, 1])
})

test('two concurrent creations of an external_id: the second gets external_id_taken', async () => {
  const id = uniqueSlug()
  const requests = [() => createTenant(id), () => createTenant(id)]
  const answers = await meet(barrier, auditHeadOf(workspaceId), requests)
  assert.deepEqual(answersOf(answers), [
    [201, undefined],
    [409, 'external_id_taken'],
  ])
})

test('two concurrent creations of a workspace slug: one gets slug_taken and leaves nothing', async () => {
  const slug = uniqueSlug()
  const [{ n: before }] = await query('select count(*) as n from workspaces')
  const create = () => ask('POST', '/v1/workspaces', { token: bootstrapToken, body: { name: 'Twice', slug } })
  // A third creation holds the slug and gives it up.
  const third = `insert into workspace_slugs (slug, workspace_id) values ('${slug}', '${workspaceId}')`
  const answers = await meet(barrier, [third, []], [create, create])
  assert.deepEqual(
    answersOf(answers).toSorted(([a], [b]) => Number(a) - Number(b)),
    [
      [201, undefined],
      [409, 'slug_taken'],
    ],
  )
  const [{ n: after }] = await query('select count(*) as n from workspaces')
  assert.equal(after, before + 1)
  const made = answers.find(({ status }) => status === 201)
  assert.deepEqual(await faultsOf(query, made?.body.id), [])
})

test('a concurrent rename and creation: only one gets the slug, in either order', async () => {
  const rename = async (slug: string) => {
    const project = await createProject(uniqueSlug())
    return () => ask('PATCH', `/v1/projects/${project.body.id}`, { token: live, body: { slug } })
  }
  for (const renameFirst of [true, false]) {
    const slug = uniqueSlug()
    const both = [await rename(slug), () => createProject(slug)]
    const answers = await meet(barrier, auditHeadOf(workspaceId), renameFirst ? both : both.toReversed())
    assert.deepEqual(answers[1]?.body.code, 'slug_taken')
    assert.ok((answers[0]?.status ?? 500) < 300)
    assert.equal(await projectsWith(slug), 1)
  }
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

test('two requests with one Idempotency-Key: one executes, the other gets its response', async () => {
  const slug = uniqueSlug()
  const again = () => createProject(slug, { 'idempotency-key': 'same' })
  const [first, second] = await meet(barrier, auditHeadOf(workspaceId), [again, again])
  assert.deepEqual([first?.status, second?.status], [201, 201])
  assert.equal(second?.headers['idempotent-replayed'], 'true')
  assert.deepEqual(second?.body, first?.body)
  assert.deepEqual([await projectsWith(slug), await createdRows(slug)], [1, 1])
})
