import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inFlightMax, ownEndsInFlightMax } from '../src/gate/in-flight.ts'
import { startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { openBarrier, policyHeadOf } from './races/barrier.ts'
import { issueKey, makeSecretKey, makeVendor } from './vendor.ts'

const harness = await startHarness({ databasePool: 20 })
const { ask, query } = harness
const barrier = await openBarrier(harness)
const statusesOf = (answers: readonly { status: number }[]) => new Set(answers.map(({ status }) => status))

test('a stolen key fills its share of requests, and its workspace still ends rights', async () => {
  const scene = await makeVendor(harness)
  const stolen = await makeSecretKey(harness, scene)
  const leaked = await makeSecretKey(harness, scene)
  const key = await issueKey(harness, scene)
  // Every change in the project waits, while it holds a connection or waits for one.
  await barrier.hold(...policyHeadOf(scene.projectId))
  const change = (token: string, name: string) =>
    ask('PATCH', `/v1/keys/${key.id}`, { token, body: { name } })
  const flood = Array.from({ length: inFlightMax }, (_, i) => change(stolen.key, `thief ${i}`))
  await barrier.untilWaiting(inFlightMax)
  const { status, body, headers } = await change(stolen.key, 'one more')
  assert.deepEqual([status, body.code, headers['retry-after']], [429, 'too_many_in_flight', '1'])

  const ended = await ask('POST', `/v1/secret_keys/${leaked.id}/revoke`, { token: scene.live })
  assert.equal(ended.status, 200, JSON.stringify(ended.body))
  const own = change(scene.live, 'owner')
  await barrier.untilWaiting(inFlightMax + 1)
  await barrier.release()
  assert.deepEqual(statusesOf(await Promise.all(flood)), new Set([200]))
  assert.equal((await own).status, 200)
  assert.equal((await change(stolen.key, 'again')).status, 200)
})

test('a stolen session has a small share of requests that end its person’s rights', async () => {
  const { token } = await makePerson(query)
  const change = () =>
    ask('POST', '/v1/auth/me/password', {
      token,
      body: { current_password: 'wrong', password: 'wrong too, but longer' },
    })
  const answers = await Promise.all(Array.from({ length: ownEndsInFlightMax + 1 }, change))
  const refused = answers.filter(({ body }) => body.code === 'too_many_in_flight')
  assert.equal(refused.length, 1)
})
