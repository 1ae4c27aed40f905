import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { openBarrier, policyHeadOf } from '../../test/races/barrier.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import type { Principal } from './principal.ts'
import { placeOf } from './turn-place.ts'

const harness = await startHarness({ databasePool: 4 })
const { ask, deps, query } = harness
const barrier = await openBarrier(harness)

const place = (principal: Partial<Principal>) =>
  placeOf(principal as Principal, deps.makers, new Deadline(10_000))
const placeOfKey = async (workspaceId: string, id: string) =>
  (await place({ kind: 'secret_key', id, workspaceId }))?.path

test('a key stands below the keys and the person that made it, whatever is asked first', async () => {
  const { workspaceId, live, liveId } = await makeVendor(harness)
  const { userId, token, sessionId } = await makePerson(query, { workspaceId, role: 'owner' })
  const own = await makeSecretKey(harness, { live: token })
  const below = await makeSecretKey(harness, { live: own.key })
  const last = await makeSecretKey(harness, { live: below.key })
  const [person, one, two, three] = [`user ${userId}`, `key ${own.id}`, `key ${below.id}`, `key ${last.id}`]
  assert.deepEqual(await placeOfKey(workspaceId, last.id), [person, one, two, three])
  assert.deepEqual(await placeOfKey(workspaceId, own.id), [person, one])
  const later = await makeSecretKey(harness, { live: last.key })
  assert.deepEqual(await placeOfKey(workspaceId, later.id), [person, one, two, three, `key ${later.id}`])
  assert.deepEqual(await placeOfKey(workspaceId, liveId), [`key ${liveId}`])
  const made = await makeSecretKey(harness, { live })
  assert.deepEqual(await placeOfKey(workspaceId, made.id), [`key ${liveId}`, `key ${made.id}`])
  const elsewhere = await makeVendor(harness)
  assert.deepEqual(
    await placeOfKey(elsewhere.workspaceId, last.id),
    [three],
    'another workspace knows nothing',
  )
  assert.deepEqual(await place({ kind: 'session', id: userId, sessionId, workspaceId }), {
    path: [person, 'sessions', sessionId],
    isMinor: false,
  })
})

test('an unknown target is answered while each place of the line is taken', async () => {
  const scene = await makeVendor(harness)
  const keys = [
    await issueKey(harness, scene),
    await issueKey(harness, scene),
    await issueKey(harness, scene),
  ]
  const revoke = (path: string) => ask('POST', `${path}/revoke`, { token: scene.live })
  await barrier.hold(...policyHeadOf(scene.projectId))
  const waiting = keys.map(({ id }) => revoke(`/v1/keys/${id}`))
  await barrier.untilWaiting(keys.length)
  for (const noun of ['keys', 'secret_keys', 'invites'])
    assert.equal((await revoke(`/v1/${noun}/${randomUUID()}`)).status, 404, noun)
  const unknown = await ask('DELETE', `/v1/members/${randomUUID()}`, { token: scene.live })
  assert.equal(unknown.status, 404)
  await barrier.release()
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 200)
})

test('the revocation of a thief’s key takes its turn among what waits of the thief', async () => {
  const scene = await makeVendor(harness)
  const thief = await makeSecretKey(harness, scene)
  const helper = await makeSecretKey(harness, { live: thief.key })
  const made = await Promise.all(
    Array.from({ length: 12 }, () => makeSecretKey(harness, { live: helper.key })),
  )
  await barrier.hold('select from workspaces where id = $1 for update', [scene.workspaceId])
  const statuses: number[] = []
  const revoke = async (id: string, token: string) => {
    const { status } = await ask('POST', `/v1/secret_keys/${id}/revoke`, { token })
    statuses.push(status)
  }
  const flood = made.map(({ id }, i) => revoke(id, i % 2 === 0 ? helper.key : thief.key))
  await barrier.untilWaiting(flood.length)
  const own = ask('POST', `/v1/secret_keys/${thief.id}/revoke`, { token: scene.live })
  await barrier.untilWaiting(flood.length + 1)
  await barrier.release()
  assert.equal((await own).status, 200)
  await Promise.all(flood)
  // Some hold a place already, or come to the lock that the owner waits for; behind the whole flood, none would be refused.
  assert.ok(statuses.includes(401), statuses.join())
})
